"""infill.downloadModel over real stdio: a hub on this machine, a model in miniature, an engine that is replaced."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import editor as editor_module
import pytest
from capabilities import NEOVIM
from editor import REPOSITORY, WAIT, Editor, editor
from lsprotocol import types

sys.path += [str(REPOSITORY / "tests" / "infill_engine" / "models" / each) for each in (".", "trunk")]

from hub_server import Hub, serving
from tiny_gguf import write_gguf

COMMAND = "infill.downloadModel"
TOKEN = "our token"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    (tmp_path / "published").mkdir()
    write_gguf(tmp_path / "published" / "tiny.gguf")
    made = Hub({"some/tiny-GGUF": tmp_path / "published"})
    program = REPOSITORY / "tests" / "downloading_server.py"
    server = (sys.executable, str(program), str(tmp_path / "published" / "tiny.gguf"), "--stdio")
    monkeypatch.setattr(editor_module, "SERVER", server)
    with serving(made):
        monkeypatch.setenv("HF_ENDPOINT", made.endpoint)
        yield made


@contextlib.asynccontextmanager
async def started() -> AsyncIterator[tuple[Editor, list[Any]]]:
    """An editor without the default model, and the progress that it is told of."""
    async with editor(NEOVIM, options={"budgetMs": 5000, "showThreshold": 0}) as made:
        said: list[Any] = []
        made.client.protocol.fm.features.pop(types.PROGRESS)
        made.client.feature(types.PROGRESS)(lambda params: params.token == TOKEN and said.append(params.value))
        await made.ready()
        assert made.statuses[-1].model == "retrieval"
        yield made, said


def ask(made: Editor) -> "asyncio.Future[Any]":
    params = types.ExecuteCommandParams(COMMAND, [{"workDoneToken": TOKEN}])
    method = types.WORKSPACE_EXECUTE_COMMAND
    return asyncio.ensure_future(made.client.protocol.send_request_async(method, params))


async def completes(made: Editor) -> None:
    """Completions go on."""
    uri = made.open("x = │", "file:///project/goes_on.py")
    assert await made.ask(uri)
    made.close(uri)


async def test_a_download_that_broke_once_is_used_by_the_same_window(hub: Hub) -> None:
    async with started() as (made, said):
        status = await made.status()
        missing = status.missingModel
        assert (missing.file, missing.address) == ("tiny.gguf", "https://huggingface.co/some/tiny-GGUF")
        assert missing.folder == str(made.folder / "models")
        hub.cut_after = 60_000
        result = await asyncio.wait_for(ask(made), WAIT)
        assert (result["outcome"], hub.cut_after) == ("done", 0)
        assert any(request.startswith("RANGE tiny.gguf") for request in hub.requests)
        await made.until(lambda: made.statuses[-1].model == "whole")
        after = await made.status()
        assert after.missingModel is None
        assert after.workerPid != status.workerPid
        await completes(made)
        kinds = [value["kind"] if isinstance(value, dict) else value.kind for value in said]
        assert (kinds[0], kinds[-1]) == ("begin", "end")
        assert "report" in kinds
        assert not (made.folder / "models" / "tiny.gguf").exists()


async def test_a_download_can_be_cancelled_and_goes_on_later(hub: Hub) -> None:
    async with started() as (made, said):
        hub.stalls_after = 60_000
        asked = ask(made)
        await made.until(lambda: len(said) > 1)
        assert (await asyncio.wait_for(ask(made), WAIT))["outcome"] == "failed"  # there is one already
        made.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(TOKEN))
        result = await asyncio.wait_for(asked, WAIT)
        assert result["outcome"] == "cancelled"
        assert "kept" in result["message"]
        assert (made.folder / "models" / "tiny.gguf.part").stat().st_size == 60_000
        await completes(made)
        hub.go_on.set()
        assert (await asyncio.wait_for(ask(made), WAIT))["outcome"] == "done"
        assert "RANGE tiny.gguf 60000" in hub.requests


async def test_without_a_network_it_says_where_to_put_the_file(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    async with started() as (made, _):
        result = await asyncio.wait_for(ask(made), WAIT)
        assert result["outcome"] == "failed"
        assert f"put it into {made.folder / 'models'}" in result["message"]
        await completes(made)
        folder = made.folder / "models"
        (folder / "tiny.gguf").write_bytes((hub.models["some/tiny-GGUF"] / "tiny.gguf").read_bytes())
        assert (await asyncio.wait_for(ask(made), WAIT))["outcome"] == "done"
        await made.until(lambda: made.statuses[-1].model == "whole")
        assert (folder / "tiny.gguf").exists()  # it is not ours


async def test_another_file_is_not_used(hub: Hub) -> None:
    published = hub.models["some/tiny-GGUF"] / "tiny.gguf"
    async with started() as (made, _):
        original = published.read_bytes()
        hub.models["some/tiny-GGUF"] = published.parent.parent / "altered"
        hub.models["some/tiny-GGUF"].mkdir()
        (hub.models["some/tiny-GGUF"] / "tiny.gguf").write_bytes(original[:-1] + bytes([original[-1] ^ 1]))
        result = await asyncio.wait_for(ask(made), WAIT)
        assert result["outcome"] == "failed"
        assert "was not the published file and has been removed" in result["message"]
        assert list((made.folder / "models").glob("tiny.gguf*")) == []
        await completes(made)
