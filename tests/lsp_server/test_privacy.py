"""What an engine is sent, what it logs, and what a crash would leave behind."""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import editor as editor_module
import psutil
import pytest
import pytest_asyncio
from capabilities import VSCODE
from editor import WAIT, Editor, editor
from lsprotocol import types

from tests.conftest import end_engines

INVOKED = types.InlineCompletionTriggerKind.Invoked
# An engine that keeps every byte it is sent, and fails on one text.
RECORDER = """
import argparse, os
from infill_engine.serving import listening
from infill_engine.serving.__main__ import add_socket
from infill_engine.settings import WindowSettings
from infill_engine.types import Answer, Candidate
from tests.toy_engine import ToyEngine

class Recorder(ToyEngine):
    window = WindowSettings(wants_project=True)
    def answer(self, request, deadline, observer):
        if "fail_here" in request.prefix:
            raise ValueError(request.prefix)
        return Answer((Candidate("recorded()", 0.5),))

def recording(payload, decode=listening.decode):
    with open(os.environ["INFILL_RECORD"], "ab") as file:
        file.write(payload or b"")
    return decode(payload)

listening.decode = recording
parser = argparse.ArgumentParser()
add_socket(parser)
options = parser.parse_args()
listening.serve_socket(lambda progress: Recorder(), options.socket, options.idle_seconds)
"""
SERVER = f"""
import os, sys
from lsp_server.server import serve_stdio
os._exit(serve_stdio(lambda choice: (sys.executable, "-c", {RECORDER!r})))
"""


@pytest.fixture
def cores() -> Iterator[None]:
    """Let this process's children write core files, as far as it may."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_CORE, before)


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file that the engine writes what it is sent to."""
    monkeypatch.setattr(editor_module, "SERVER", (sys.executable, "-c", SERVER))
    monkeypatch.setenv("INFILL_RECORD", str(tmp_path / "record"))
    with tempfile.TemporaryDirectory(prefix="infill-") as runtime:
        monkeypatch.setenv("INFILL_RUNTIME_DIR", runtime)
        yield tmp_path / "record"
        end_engines(Path(runtime))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / ".git").mkdir()
    (folder / "beside.py").write_text("value = found_on_disk()\n")
    (folder / ".env").write_text("value = SECRET_ON_DISK\n")
    (folder / "private_keys.py").write_text("value = SECRET_OF_USER_ON_DISK\n")
    return folder


@pytest_asyncio.fixture
async def window(record: Path, project: Path) -> AsyncIterator[Editor]:
    options = {"excludes": ["private_*.py"], "budgetMs": 60_000}
    async with editor(VSCODE, options=options, root=project.as_uri()) as made:
        await made.ready()
        yield made


async def test_an_engine_never_gets_the_text_of_a_secret(window: Editor, record: Path, project: Path) -> None:
    def uri(name: str) -> str:
        return (project / name).as_uri()

    for name in (".env", "private_keys.py"):
        secret = window.open("value = SECRET_IN_WINDOW\nvalue = │\n", uri(name))
        window.type(secret, "SECRET_TYPED")
        assert await window.ask(secret, kind=INVOKED) == []
        assert (await window.candidates(secret)).candidates == []
    plain = window.open("def f():\n    value = │\n", uri("plain.py"))
    async with asyncio.timeout(WAIT):
        while b"found_on_disk" not in record.read_bytes():
            window.type(plain, "x")
            window.type(plain, "", delete_left=1)
            assert await window.ask(plain, kind=INVOKED) == ["recorded()"]
    assert b"def f()" in record.read_bytes()
    assert b"SECRET" not in record.read_bytes()


async def test_a_fault_is_logged_without_the_text(window: Editor, project: Path) -> None:
    uri = window.open("fail_here = HUNTER2 + │", (project / "plain.py").as_uri())
    assert await window.ask(uri, kind=INVOKED) == []
    log = (window.folder / "engine.log").read_text()
    assert "ValueError" in log
    assert "HUNTER2" not in log
    assert not any("HUNTER2" in message for message in window.messages)


async def test_neither_server_nor_engine_writes_a_core_file(cores: None, window: Editor) -> None:
    server = psutil.Process(window.client._server.pid)
    processes = [server, *server.children(recursive=True)]
    assert len(processes) == 2
    assert [process.rlimit(psutil.RLIMIT_CORE)[0] for process in processes] == [0, 0]
