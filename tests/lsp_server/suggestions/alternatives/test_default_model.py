"""Alternatives of the pretrained model, over the wire. Skipped only if its weights are missing."""

import asyncio
import sys
from pathlib import Path

import pytest
from lsprotocol import types

sys.path.append(str(Path(__file__).parents[2]))

from capabilities import VSCODE
from editor import Editor, editor

from infill_engine.models.registry import TRUNK, folder_of

FOLDER = folder_of(TRUNK)
BROKEN = "def mean(values):\n    if len(values) = 0:\n        return 0.0\n    return sum(values) / len(values)\n"
BUDGET_MS = 60_000
LOADING_SECONDS = 120

pytestmark = pytest.mark.skipif(
    FOLDER is None or not (FOLDER / "model.safetensors.index.json").is_file(),
    reason="THE WEIGHTS OF THE DEFAULT MODEL ARE MISSING, so its alternatives were not tested",
)


async def ask(client: Editor, uri: str, row: int) -> list[types.CodeAction]:
    whole_row = types.Range(types.Position(row, 4), types.Position(row, 4))
    context = types.CodeActionContext([], trigger_kind=types.CodeActionTriggerKind.Invoked, only=["quickfix"])
    params = types.CodeActionParams(types.TextDocumentIdentifier(uri), whole_row, context)
    async with asyncio.timeout(BUDGET_MS / 1000 + 10):
        found = await client.client.text_document_code_action_async(params)
    return [action for action in found or [] if isinstance(action, types.CodeAction)]


async def test_an_assignment_in_a_condition_is_repaired() -> None:
    async with editor(VSCODE, options={"model": "trunk", "rewriteBudgetMs": BUDGET_MS}) as client:
        async with asyncio.timeout(LOADING_SECONDS):
            while not any(status.state == "ready" for status in client.statuses[-1:]):
                await asyncio.sleep(0.1)
        uri = client.open(BROKEN)
        titles = [action.title for action in await ask(client, uri, 1)]
        assert titles
        assert all(title.startswith("Fix line: if ") and title.endswith(":") for title in titles)
        assert any("len(values) == 0" in title or "not values" in title for title in titles), titles
