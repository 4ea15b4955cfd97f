"""The log of what the engine does: what is in it, and that no text of a document is."""

import contextlib
import json
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
from processes import has_ended
from sharing import WAIT, ready, until

from infill_engine.budget.deadline import now
from infill_engine.serving.event_log import EventLog
from infill_engine.types import Draft, InfillRequest, ProjectText
from lsp_server.engine_client.client import EngineClient
from lsp_server.settings.schema import EngineChoice

SECRET = "the_users_code"
# An engine that repeats the user's text wherever an engine can, and fails with it.
REPEATING = """
import argparse
from infill_engine.errors import InfillError
from infill_engine.serving.__main__ import add_socket
from infill_engine.serving.listening import serve_socket
from infill_engine.settings import WindowSettings
from infill_engine.types import Answer, Candidate, Reason
from tests.toy_engine import ToyEngine

class Repeating(ToyEngine):
    window = WindowSettings(wants_project=True)

    def answer(self, request, deadline, observer):
        if request.suffix == "fail":
            raise KeyError(request.prefix)
        return Answer((Candidate(request.prefix, 0.5),), user_message=request.prefix, read_ms=1.5)

    def prefetch(self, request, deadline):
        raise ValueError(request.prefix)

parser = argparse.ArgumentParser()
add_socket(parser)
options = parser.parse_args()
serve_socket(lambda _: Repeating(), options.socket, options.idle_seconds, log_folder=options.log)
"""


@pytest.fixture(autouse=True)
def own_folder(engine_folder: Path) -> Path:
    return engine_folder


@contextlib.asynccontextmanager
async def editor_window() -> AsyncIterator[EngineClient]:
    command = (sys.executable, "-c", REPEATING)
    client = EngineClient(lambda _status: None, lambda _said: None, lambda _choice: command, shared=True)
    await client.start(EngineChoice())
    await ready(client)
    yield client
    await client.stop()


def events(folder: Path) -> list[dict[str, object]]:
    (path,) = folder.glob("engine-*.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_the_log_has_all_events_and_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "logs"
    monkeypatch.setenv("INFILL_ENGINE_LOG", str(folder))
    monkeypatch.setenv("INFILL_STATE_DIR", str(tmp_path / "state"))
    around = ProjectText.of(f"{SECRET} = 1\n")
    async with editor_window() as client:
        engine = client.process.pid
        client.index_project(around)
        for suffix in ("", "fail"):
            request = InfillRequest(
                SECRET, suffix, drafts=(Draft(SECRET, 9),), project_name=around.name, path=f"{SECRET}.py"
            )
            client.prefetch(f"file:///{SECRET}.py", request)
            await client.ask(f"file:///{SECRET}.py", request, now() + WAIT)
    await until(lambda: has_ended(engine))
    found = events(folder)
    assert {str(each["event"]) for each in found} == {
        *("started", "ready", "client joined", "answer", "failure", "client left", "exit")
    }
    (answer,) = [each for each in found if each["event"] == "answer"]
    assert (answer["candidates"], answer["reason"], answer["read_ms"], answer["pid"]) == (1, None, 1.5, engine)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) == 2  # this log, and the one of faults
    assert [path for path in written if SECRET in path.read_text()] == []


async def test_without_the_variable_there_is_no_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFILL_STATE_DIR", str(tmp_path))
    async with editor_window() as client:
        assert "--log" not in psutil.Process(client.process.pid).cmdline()
        assert [path.name for path in tmp_path.iterdir()] == ["engine.log"]


async def test_a_folder_that_cannot_be_written_keeps_no_engine_from_serving(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFILL_STATE_DIR", str(tmp_path))
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("INFILL_ENGINE_LOG", str(tmp_path / "file"))
    async with editor_window() as client:
        answer = await client.ask("d", InfillRequest("a", ""), now() + WAIT)
        assert answer.candidates[0].text == "a"


def test_a_log_that_grows_is_rotated(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "engine-a.jsonl"
    log = EventLog(path, largest_bytes=2_000)
    for number in range(200):
        log("answer", ms=number)
    log.close()
    files = sorted(path.parent.iterdir())
    assert [file.name for file in files] == [f"{path.name}{end}" for end in ("", ".1", ".2", ".3")]
    assert all(file.stat().st_size <= 2_000 for file in files)
    assert json.loads(path.read_text().splitlines()[-1])["ms"] == 199
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
