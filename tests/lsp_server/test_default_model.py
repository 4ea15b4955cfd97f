"""What needs the default model, which loads slowly: all windows here share the engine of one that stays open."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from capabilities import BARE, VSCODE
from editor import ABSENT, Editor, editor
from lsprotocol import types

from infill_engine.models.registry import TRUNK, folder_of

FOLDER = folder_of(TRUNK)
BROKEN = "def mean(values):\n    if len(values) = 0:\n        return 0.0\n    return sum(values) / len(values)\n"
REWRITE_MS = 60_000
LOADING_SECONDS = 120

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def window() -> AsyncIterator[Editor]:
    async with editor(VSCODE, options={"budgetMs": 5000, "explicitBudgetMs": REWRITE_MS}) as made:
        async with asyncio.timeout(LOADING_SECONDS):
            while not any(status.state == "ready" for status in made.statuses[-1:]):
                await asyncio.sleep(0.1)
        yield made


async def ask(window: Editor, uri: str, row: int) -> list[types.CodeAction]:
    whole_row = types.Range(types.Position(row, 4), types.Position(row, 4))
    context = types.CodeActionContext([], trigger_kind=types.CodeActionTriggerKind.Invoked, only=["quickfix"])
    params = types.CodeActionParams(types.TextDocumentIdentifier(uri), whole_row, context)
    async with asyncio.timeout(REWRITE_MS / 1000 + 10):
        found = await window.client.text_document_code_action_async(params)
    return [action for action in found or [] if isinstance(action, types.CodeAction)]


@pytest.mark.skipif(
    FOLDER is None or not (FOLDER / "model.safetensors.index.json").is_file(),
    reason="THE WEIGHTS OF THE DEFAULT MODEL ARE MISSING, so its alternatives were not tested",
)
async def test_an_assignment_in_a_condition_is_repaired(window: Editor) -> None:
    uri = window.open(BROKEN)
    titles = [action.title for action in await ask(window, uri, 1)]
    assert titles
    assert all(title.startswith("Fix line: if ") and title.endswith(":") for title in titles)
    assert any("len(values) == 0" in title or "not values" in title for title in titles), titles


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ({"model": "no/such/model"}, "/project/no/such/model"),
        ({"model": str(Path(__file__).with_name("none.gguf"))}, "there is no file"),
        ({"model": "llama:http://gpu.example.com"}, "llama+unencrypted:http://gpu.example.com"),
        (ABSENT, "is not available here"),
    ],
)
async def test_an_engine_that_cannot_be_had_and_then_another(window: Editor, chosen: dict[str, str], told: str) -> None:
    async with editor(BARE, options={**chosen, "showThreshold": 0, "budgetMs": 5000}, root="file:///project") as lost:
        await lost.ready()
        assert [status.state for status in lost.statuses].count("failed") == 1
        got = {"model": lost.statuses[-1].model, "device": lost.statuses[-1].device}
        in_place = {name: f", in place of {wanted}" for name, wanted in chosen.items()}
        assert got == {"model": f"default{in_place.get('model', '')}", "device": f"cpu{in_place.get('device', '')}"}
        (message,) = lost.messages
        assert told in message
        assert message.endswith(". Meanwhile the default model is used.")
        assert await lost.ask(lost.open("import os\n\nfor number in range(│", "file:///project/meanwhile.py"))
        lost.configure({"budgetMs": 4000})
        lost.configure({**chosen, "model": "scripted", "device": "cpu"})
        await lost.until(lambda: lost.statuses[-1].model == "scripted")
        await lost.ready()
        assert len(await lost.ask(lost.open("x = │"))) > 1
        assert len(lost.messages) == 1
        assert not lost.client.progress_reports
