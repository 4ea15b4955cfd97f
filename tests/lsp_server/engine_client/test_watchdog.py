"""A worker that hangs is ended, one that is slow is not, and nobody is blamed for a computer that slept."""

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator

import pytest
from sharing import suspend

from infill_engine.serving.protocol import State
from infill_engine.types import Answer, InfillRequest, Reason
from lsp_server.engine_client import supervisor
from lsp_server.engine_client import supervisor as worker_process
from lsp_server.engine_client.client import EngineClient
from lsp_server.engine_client.supervisor import Watchdog
from lsp_server.settings.schema import EngineChoice

WAIT = 30  # seconds after which a test has failed

MISS, ALIVE, LOOK = "miss", "alive", "look"
EVENTS = [
    # (seconds, what happens) one after the other, looking every second in between; when it is found to hang
    ([], None),
    ([(0, MISS), (1, MISS), (2, MISS)], 10),
    ([(0, MISS), (1, MISS)], None),  # one long encoding may cost two deadlines
    ([(0, MISS), (1, MISS), (11, MISS)], 11),
    ([(0, MISS), (1, MISS), (2, MISS), (9, ALIVE)], None),
    ([(0, MISS), (1, MISS), (2, ALIVE), (3, MISS), (4, MISS), (5, MISS)], 13),
    ([(0, MISS), (0, MISS), (0, MISS), (0, MISS)], 10),
]


@pytest.mark.parametrize(("events", "expected"), EVENTS, ids=str)
def test_when_it_is_found_out(events: list[tuple[int, str]], expected: int | None) -> None:
    dog = Watchdog()
    found = None
    for second in range(40):
        for at, event in events:
            if at == second:
                dog.missed(second) if event == MISS else dog.alive()
        if dog.hangs(second) and found is None:
            found = second
    assert found == expected


@pytest.mark.parametrize("slept_at", [1, 3, 9])
def test_a_lid_that_was_closed(slept_at: int) -> None:
    dog = Watchdog()
    hours = 3 * 3600
    for second in range(slept_at):
        dog.missed(second)
        assert not dog.hangs(second)
    for second in range(slept_at + hours, slept_at + hours + 9):
        if second < slept_at + hours + 2:
            dog.missed(second)  # what was under way when it closed
        assert not dog.hangs(second)
    assert dog.misses < supervisor.MISSES


STUCK = """
import time
from infill_engine.types import Answer, Candidate
from infill_engine.serving.__main__ import serve
from tests.toy_engine import ToyEngine

class Stuck(ToyEngine):
    def answer(self, request, deadline, observer):
        if request.prefix == "hang":
            time.sleep(1000)
        if request.prefix == "slow":
            time.sleep(0.1)
        return Answer((Candidate(request.prefix, 0.5),))

serve(lambda progress: Stuck())
"""


@contextlib.asynccontextmanager
async def started(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[EngineClient, list[str]]]:
    monkeypatch.setattr(supervisor, "PATIENCE_SECONDS", 1.0)
    monkeypatch.setattr(supervisor, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(worker_process, "RESTART_SECONDS", 0.0)
    told: list[str] = []
    client = EngineClient(lambda _status: None, told.append, lambda _choice: (sys.executable, "-c", STUCK))
    await client.start(EngineChoice())
    try:
        await ready(client)
        yield client, told
    finally:
        await client.stop()


async def ready(client: EngineClient) -> None:
    async with asyncio.timeout(WAIT):
        while client.status.state is not State.READY:
            await asyncio.sleep(0.005)


async def ask(client: EngineClient, prefix: str, seconds: float = WAIT) -> Answer:
    return await client.ask("d", InfillRequest(prefix, ""), time.monotonic() + seconds)


@pytest.mark.parametrize("how", ["its compute thread", "the whole process"])
async def test_it_is_ended_and_another_started(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    async with started(monkeypatch) as (client, told):
        hung = client.process.pid
        if how == "the whole process":
            suspend(hung)
        for _ in range(3):
            assert (await ask(client, "hang", 0.02)).reason is Reason.DEADLINE
        async with asyncio.timeout(WAIT):
            while client.process.pid == hung:
                await asyncio.sleep(0.01)
        await ready(client)
        assert (await ask(client, "a")).candidates[0].text == "a"
        assert client.process.pid != hung
        assert client.process.deaths == 1
        assert told == [worker_process.HUNG]


async def test_a_slow_one_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    async with started(monkeypatch) as (client, told):
        worker = client.process.pid
        for _ in range(15):  # no answer of these is in time
            assert (await ask(client, "slow", 0.01)).reason is Reason.DEADLINE
            await asyncio.sleep(0.1)
        assert (client.process.pid, told) == (worker, [])
        assert (await ask(client, "a")).candidates[0].text == "a"


async def test_two_misses_are_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    async with started(monkeypatch) as (client, told):
        worker = client.process.pid
        for _ in range(2):
            await ask(client, "hang", 0.02)
        await asyncio.sleep(1.5)
        assert (client.process.pid, told) == (worker, [])
