"""Windows that share one engine: who finds it, who may use it, what happens when it or a window goes."""

import asyncio
import os
import socket
import sys
import threading
from pathlib import Path

import psutil
import pytest
from processes import has_ended
from sharing import ask, editor_window, ready, suspend, text, toy_command, until

from infill_engine.serving import runtime_files
from infill_engine.serving.protocol import State
from infill_engine.types import Reason
from lsp_server.engine_client import shared, supervisor
from lsp_server.engine_client.client import EngineClient
from lsp_server.settings.schema import EngineChoice


@pytest.fixture(autouse=True)
def own_folder(engine_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(supervisor, "RESTART_SECONDS", 0.05)
    return engine_folder


def socket_of_engine(folder: Path) -> Path:
    (path,) = folder.glob("*.sock")
    return path


async def test_two_windows_have_one_engine(own_folder: Path) -> None:
    async with editor_window() as (one, _), editor_window() as (other, _):
        assert one.process.pid == other.process.pid
        assert socket_of_engine(own_folder).stat().st_mode & 0o777 == 0o600
        # Both number their requests from 1 and name the document "d".
        slow = asyncio.ensure_future(ask(one, "slow"))
        quick = asyncio.ensure_future(ask(other, "a"))
        await asyncio.sleep(0.05)
        one.withdraw("d")
        assert (await slow).reason is Reason.SUPERSEDED
        assert (await quick).candidates[0].text == "a"


async def test_other_settings_have_another_engine() -> None:
    async with editor_window() as (one, _), editor_window(EngineChoice(model="scripted")) as (other, _):
        assert one.process.pid != other.process.pid


def test_another_version_has_another_socket(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = runtime_files.socket_path(own_folder, ("--model", "default"))
    assert runtime_files.socket_path(own_folder, ("--model", "default")) == path
    monkeypatch.setattr(runtime_files, "package_version", lambda: "another")
    assert runtime_files.socket_path(own_folder, ("--model", "default")) != path


async def test_two_that_start_at_once_have_one_engine() -> None:
    clients = [EngineClient(lambda _: None, lambda _: None, toy_command, shared=True) for _ in range(4)]
    await asyncio.gather(*(client.start(EngineChoice()) for client in clients))
    await asyncio.gather(*map(ready, clients))
    assert len({client.process.pid for client in clients}) == 1
    await asyncio.gather(*(client.stop() for client in clients))


async def test_an_engine_that_is_killed_is_replaced_for_all() -> None:
    async with editor_window() as (one, told), editor_window() as (other, _):
        pid = one.process.pid
        waiting = [asyncio.ensure_future(ask(client, "slow")) for client in (one, other)]
        await asyncio.sleep(0.05)
        psutil.Process(pid).kill()
        assert [answer.reason for answer in await asyncio.gather(*waiting)] == [Reason.WORKER_FAILED] * 2
        await asyncio.gather(until(lambda: one.process.pid not in (pid, None)), ready(other))
        await asyncio.gather(ready(one), until(lambda: other.process.pid not in (pid, None)))
        assert one.process.pid == other.process.pid
        assert [await text(client, "a") for client in (one, other)] == ["a", "a"]
        assert len(told) == 1


async def test_a_stopped_engine_answers_by_the_deadline_and_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "PATIENCE_SECONDS", 0.5)
    monkeypatch.setattr(supervisor, "LOOK_SECONDS", 0.05)
    async with editor_window() as (one, _):
        pid = one.process.pid
        suspend(pid)
        for number in range(3):
            assert (await ask(one, f"a{number}", 0.02)).reason is Reason.DEADLINE
        await until(lambda: one.process.pid not in (pid, None))
        await ready(one)
        assert await text(one, "a") == "a"


async def test_a_newcomer_replaces_a_stopped_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "WELCOME_SECONDS", 0.3)
    async with editor_window() as (one, _):
        pid = one.process.pid
        suspend(pid)
        async with editor_window() as (other, _):
            assert other.process.pid != pid
            assert await text(other, "a") == "a"


def left_behind(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))


def open_to_all(path: Path) -> None:
    left_behind(path)
    path.chmod(0o666)


def no_socket(path: Path) -> None:
    path.write_text("not a socket")


def link_elsewhere(path: Path) -> None:
    path.symlink_to("/nowhere")


@pytest.mark.parametrize("put", [left_behind, open_to_all, no_socket, link_elsewhere])
async def test_what_is_no_engine_is_replaced(own_folder: Path, put: object) -> None:
    options = (*shared.engine_options(EngineChoice()), *toy_command(EngineChoice())[:2])
    put(runtime_files.socket_path(own_folder, options))
    async with editor_window() as (one, told):
        assert await text(one, "a") == "a"
        assert told == []


async def test_a_folder_that_others_can_enter_is_refused(own_folder: Path) -> None:
    own_folder.chmod(0o777)
    told: list[str] = []
    client = EngineClient(lambda _: None, told.append, toy_command, shared=True)
    await client.start(EngineChoice())
    await until(lambda: client.status.state is State.FAILED)
    assert "chmod 700" in told[0]
    assert (await ask(client, "a")).reason is Reason.WORKER_FAILED
    await client.stop()


async def test_a_socket_that_is_removed_costs_nobody_an_answer(own_folder: Path) -> None:
    async with editor_window() as (one, _):
        socket_of_engine(own_folder).unlink()
        async with editor_window() as (other, _):
            assert one.process.pid != other.process.pid
            assert [await text(client, "a") for client in (one, other)] == ["a", "a"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a full backlog makes windows wait by itself")
def test_a_window_waits_until_others_have_been_let_in(own_folder: Path) -> None:
    path = own_folder / "busy.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(0)
        first = shared.connect(path)
        accept = threading.Timer(0.2, listener.accept)
        accept.start()
        second = shared.connect(path)
        accept.join()
    assert first is not None
    assert second is not None
    first.close()
    second.close()


async def test_an_engine_without_windows_exits() -> None:
    async with editor_window() as (one, _):
        engine = one.process.pid
    await until(lambda: has_ended(engine))


async def test_a_restart_is_for_all_windows() -> None:
    async with editor_window() as (one, _), editor_window() as (other, told):
        pid = one.process.pid
        await one.start(EngineChoice(), anew=True)
        await until(lambda: None not in (one.process.pid, other.process.pid) and other.process.pid != pid)
        await asyncio.gather(ready(one), ready(other))
        assert one.process.pid == other.process.pid != pid
        assert told == []
        assert await text(other, "a") == "a"


async def test_an_engine_writes_no_core_file_and_sees_little_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOME_SECRET", "1")
    async with editor_window() as (one, _):
        engine = psutil.Process(one.process.pid)
        assert engine.rlimit(psutil.RLIMIT_CORE) == (0, 0)
        assert "SOME_SECRET" not in engine.environ()
        assert os.getsid(engine.pid) == engine.pid
