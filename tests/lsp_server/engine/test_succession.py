"""A process of the shared engine that is succeeded by another: no window loses an answer."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
from processes import has_ended
from sharing import ask, ready, until

from infill_engine.types import Reason
from lsp_server.engine import supervisor
from lsp_server.engine.client import EngineClient
from lsp_server.settings.schema import EngineChoice

# An engine that asks to be replaced once FOLDER/replace exists. A successor loads until FOLDER/go exists, and fails if
# FOLDER/fail does. Answers are the number of the process; one for "wait" comes when FOLDER/answer exists.
HELD = """
import argparse, os, sys, time
from pathlib import Path
from infill_engine.types import Answer, Candidate, Reason
from infill_engine.serving.__main__ import add_socket
from infill_engine.serving.health.health import Health, HealthSettings
from infill_engine.serving.listening import serve_socket
from tests.toy_engine import ToyEngine

parser = argparse.ArgumentParser()
parser.add_argument("folder", type=Path)
add_socket(parser)
options = parser.parse_args()
folder = options.folder

def reason(health):
    wanted = options.succeeds is None and (folder / "replace").exists() and health.clock() >= health._not_before
    return "asked" if wanted else ""

Health.reason = reason

class Held(ToyEngine):
    def answer(self, request, deadline, observer):
        while request.prefix == "wait" and not (folder / "answer").exists():
            if deadline.cancelled():
                return Answer(reason=Reason.CANCELLED)
            time.sleep(0.001)
        return Answer((Candidate(str(os.getpid()), 0.5),))

def load(progress):
    while options.succeeds is not None and not (folder / "go").exists():
        if (folder / "fail").exists():
            raise ValueError
        time.sleep(0.001)
    return Held()

health = HealthSettings(quiet_seconds=0.01, again_seconds=0.01)
serve_socket(load, options.socket, options.idle_seconds, 150.0, succeeds=options.succeeds, health=health)
"""
# A real model that becomes slower.
DRIFTING = """
import argparse
from infill_engine.serving.__main__ import add_socket
from infill_engine.serving.health.health import Health, HealthSettings
from infill_engine.serving.listening import serve_socket
from infill_engine.serving.starting import load_local

parser = argparse.ArgumentParser()
parser.add_argument("script")
add_socket(parser)
options = parser.parse_args()
health = HealthSettings(every_seconds=0.1, quiet_seconds=0.02, slower=4.0, in_a_row=2)
load = lambda progress: load_local("scripted:" + options.script)
serve_socket(load, options.socket, options.idle_seconds, 150.0, succeeds=options.succeeds, health=health)
"""


@pytest.fixture(autouse=True)
def own_folder(engine_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(supervisor, "RESTART_SECONDS", 0.05)
    return engine_folder


@contextlib.asynccontextmanager
async def editor_window(code: str, argument: Path) -> AsyncIterator[tuple[EngineClient, list[str]]]:
    told: list[str] = []
    command = (sys.executable, "-c", code, str(argument))
    client = EngineClient(lambda _status: None, told.append, lambda _choice: command, shared=True)
    await client.start(EngineChoice())
    try:
        await ready(client)
        yield client, told
    finally:
        await client.stop()


async def answering(client: EngineClient, prefix: str = "", document: str = "d") -> int:
    """The process that answers."""
    return int((await ask(client, prefix, document=document)).candidates[0].text)


async def successor_of(pid: int) -> psutil.Process:
    # By parent: `children` compares times of creation, which change with the system's clock.
    def find() -> list[psutil.Process]:
        return [process for process in psutil.process_iter(["ppid"]) if process.info["ppid"] == pid]

    await until(lambda: bool(find()))
    return find()[0]


async def test_what_the_old_process_was_asked_it_answers(tmp_path: Path) -> None:
    async with editor_window(HELD, tmp_path) as (one, told), editor_window(HELD, tmp_path) as (other, _):
        old = one.worker.pid
        assert await answering(one) == old
        (tmp_path / "replace").touch()
        new = await successor_of(old)
        waiting = asyncio.ensure_future(answering(one, "wait"))
        aside = asyncio.ensure_future(answering(other, "wait"))
        await asyncio.sleep(0.05)
        (tmp_path / "go").touch()
        await until(lambda: one.worker.pid == other.worker.pid == new.pid)
        assert not waiting.done()
        assert [await answering(client, document="e") for client in (one, other)] == [new.pid, new.pid]
        assert psutil.pid_exists(old)
        (tmp_path / "answer").touch()
        assert [await waiting, await aside] == [old, old]
        await until(lambda: has_ended(old))
        async with editor_window(HELD, tmp_path) as (newcomer, _):
            assert newcomer.worker.pid == new.pid
        assert told == []


async def test_a_request_at_the_old_process_can_be_cancelled(tmp_path: Path) -> None:
    async with editor_window(HELD, tmp_path) as (one, _):
        old = one.worker.pid
        (tmp_path / "replace").touch()
        new = await successor_of(old)
        waiting = asyncio.ensure_future(ask(one, "wait"))
        await asyncio.sleep(0.05)
        (tmp_path / "go").touch()
        await until(lambda: one.worker.pid == new.pid)
        one.withdraw("d")
        assert (await waiting).reason is Reason.SUPERSEDED
        await until(lambda: has_ended(old))


async def test_a_successor_that_fails_changes_nothing(tmp_path: Path) -> None:
    async with editor_window(HELD, tmp_path) as (one, told):
        old = one.worker.pid
        (tmp_path / "fail").touch()
        (tmp_path / "replace").touch()
        first = await successor_of(old)
        await until(lambda: has_ended(first.pid))
        assert await answering(one) == old
        (tmp_path / "fail").unlink()
        (tmp_path / "go").touch()
        await until(lambda: one.worker.pid not in (old, None))  # it tries again
        assert told == []


async def test_an_engine_that_is_ended_takes_its_successor_along(tmp_path: Path) -> None:
    async with editor_window(HELD, tmp_path) as (one, _):
        (tmp_path / "replace").touch()
        new = await successor_of(one.worker.pid)
    await until(lambda: has_ended(new.pid))


async def test_a_successor_replaces_nobody_but_its_predecessor(tmp_path: Path) -> None:
    async with editor_window(HELD, tmp_path) as (one, _):
        old = one.worker.pid
        (tmp_path / "replace").touch()
        new = await successor_of(old)
        psutil.Process(old).kill()
        await until(lambda: one.worker.pid not in (old, None))
        (tmp_path / "replace").unlink()
        third = one.worker.pid
        (tmp_path / "go").touch()
        await until(lambda: has_ended(new.pid))
        assert one.worker.pid == third
        assert await answering(one) == third
        async with editor_window(HELD, tmp_path) as (newcomer, _):
            assert newcomer.worker.pid == third


async def test_a_model_that_becomes_slower_is_loaded_anew_while_requests_go_on(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    rules = [{"before": "x = ", "candidates": ["alpha(1)"]}]
    script.write_text(json.dumps({"rules": rules, "busy_ms": 2, "step_ms": 20, "slower_after": 40}))
    async with editor_window(DRIFTING, script) as (one, told):
        old, texts = one.worker.pid, []
        await asyncio.sleep(0.5)  # a quiet moment for the first probe, which later ones are compared with
        while one.worker.pid == old or len(texts) < 20:
            assert len(texts) < 1000
            answer = await ask(one, f"# {len(texts)}\nx = ")
            texts.append(answer.candidates[0].text if answer.candidates else str(answer.reason))
            await asyncio.sleep(0.1)
        assert set(texts) == {"alpha(1)"}
        assert told == []
        await until(lambda: has_ended(old))
