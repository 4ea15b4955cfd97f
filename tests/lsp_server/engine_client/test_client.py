"""The server's side of the worker: joining, superseding, restarting. The worker is a real process with a toy engine."""

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from msgspec import structs

from bench.families import masked
from infill_engine.serving.protocol import CanvasPreview, State, Status
from infill_engine.settings import USUAL_WINDOW, WindowSettings
from infill_engine.types import Answer, InfillRequest, ProjectText, Reason
from lsp_server.engine_client import supervisor as worker_process
from lsp_server.engine_client.client import EngineClient
from lsp_server.settings.schema import EngineChoice, Precision

WAIT = 90  # seconds after which a test has failed
COUNTING = """
import time
from infill_engine.settings import WindowSettings
from infill_engine.types import Answer, Candidate
from infill_engine.serving.__main__ import serve
from tests.toy_engine import ToyEngine

class Counting(ToyEngine):
    window = WindowSettings(wants_project=True)
    calls = 0
    texts = []
    def index_project(self, project_text):
        self.texts.append(project_text.text)
        return iter(())
    def answer(self, request, deadline, observer):
        self.calls += 1
        while request.prefix.startswith("slow") and not deadline.cancelled():
            time.sleep(0.001)
        if request.prefix == "fault":
            raise RuntimeError("the user's code")
        if request.prefix == "project text":
            return Answer((Candidate(" ".join(self.texts) or "none", 0.5),))
        text = f"{request.prefix} {self.calls}"
        cut_short = request.prefix == "short" and not request.explicit
        return Answer((Candidate(text, 0.5),), final=request.prefix != "cut", cut_short=cut_short)

serve(lambda progress: Counting())
"""


def ask_for(prefix: str, *, explicit: bool = False) -> InfillRequest:
    return InfillRequest(prefix, "", explicit=explicit)


def due() -> float:
    return time.monotonic() + WAIT


def said(answer: Answer) -> object:
    return answer.reason or answer.candidates[0].text


@contextlib.asynccontextmanager
async def started(*command: str) -> AsyncIterator[tuple[EngineClient, list[str]]]:
    told: list[str] = []
    client = EngineClient(lambda _status: None, told.append, lambda _choice: command)
    await client.start(EngineChoice())
    try:
        yield client, told
    finally:
        await client.stop()


@contextlib.asynccontextmanager
async def counting() -> AsyncIterator[tuple[EngineClient, list[str]]]:
    async with started(sys.executable, "-c", COUNTING) as (client, told):
        await until(client, State.READY)
        yield client, told


async def until(client: EngineClient, state: State) -> None:
    async with asyncio.timeout(WAIT):
        while client.status.state is not state:
            await asyncio.sleep(0.005)


async def test_equal_requests_share_one_answer() -> None:
    async with counting() as (client, _):
        client.speculate("d", ask_for("a"), due())
        both = await asyncio.gather(*(client.ask("d", ask_for("a"), due()) for _ in range(2)))
        assert [said(answer) for answer in both] == ["a 1", "a 1"]
        assert said(await client.ask("d", ask_for("a"), due())) == "a 1"
        assert said(await client.ask("d", ask_for("b"), due())) == "b 2"
        assert said(await client.ask("another", ask_for("b"), due())) == "b 3"


async def test_what_another_try_would_better_is_tried_again() -> None:
    async with counting() as (client, _):
        assert said(await client.ask("d", ask_for("cut"), due())) == "cut 1"
        assert said(await client.ask("d", ask_for("cut"), due())) == "cut 2"


async def test_an_explicit_request_is_computed_again_where_a_keystrokes_answer_was_cut_short() -> None:
    async with counting() as (client, _):
        for prefix, again in (("short", "short 2"), ("a", "a 3")):
            first = said(await client.ask("d", ask_for(prefix), due()))
            assert said(await client.ask("d", ask_for(prefix), due())) == first
            asked = said(await client.ask("d", ask_for(prefix, explicit=True), due()))
            assert asked == again
            assert said(await client.ask("d", ask_for(prefix), due())) == asked


async def test_an_explicit_request_does_not_wait_for_one_with_less_time() -> None:
    async with counting() as (client, _):
        typed = asyncio.ensure_future(client.ask("d", ask_for("slow"), time.monotonic() + 0.5))
        await asyncio.sleep(0.02)
        before = client.pending.newest("d")
        asked = asyncio.ensure_future(client.ask("d", ask_for("slow", explicit=True), due()))
        assert said(await typed) is Reason.SUPERSEDED
        assert client.pending.newest("d").due > before.due + 1
        # A keystroke's request may join the explicit one. Its deadline says nothing about the engine.
        assert said(await client.ask("d", ask_for("slow"), time.monotonic() + 0.02)) is Reason.DEADLINE
        assert not client.process.overdue
        assert not asked.done()
        client.forget("d")
        assert said(await asked) is Reason.SUPERSEDED


async def test_a_newer_request_supersedes_within_its_document_alone() -> None:
    async with counting() as (client, _):
        old = asyncio.ensure_future(client.ask("d", ask_for("slow"), due()))
        await asyncio.sleep(0.02)
        assert str(said(await client.ask("d", ask_for("new"), due()))).startswith("new ")
        assert said(await old) is Reason.SUPERSEDED
        client.speculate("d", ask_for("slow"), due())
        kept = asyncio.ensure_future(client.ask("d", ask_for("slow"), due()))
        await asyncio.sleep(0.02)
        assert not kept.done()
        client.forget("d")
        assert said(await kept) is Reason.SUPERSEDED


async def test_the_deadline_holds_whatever_the_worker_does() -> None:
    async with counting() as (client, _):
        assert said(await client.ask("d", ask_for("slow"), time.monotonic() + 0.02)) is Reason.DEADLINE
        assert said(await client.ask("d", ask_for("slow"), time.monotonic() - 1)) is Reason.DEADLINE
        assert said(await client.ask("d", ask_for("a"), due())).startswith("a ")


async def test_the_worker_ends_before_a_reply_is_due() -> None:
    client, link = EngineClient(Mock(), Mock(), status=Status(State.READY)), Mock()
    client.process.link = link
    client.speculate("d", ask_for("a"), 100.0)
    [[infill], _] = link.send.call_args
    assert 1000 * (100.0 - infill.expires_at) == pytest.approx(6)


async def test_a_fault_is_told_once_and_the_worker_lives() -> None:
    async with counting() as (client, told):
        for _ in range(2):
            assert said(await client.ask("d", ask_for("fault"), due())) is Reason.WORKER_FAILED
        assert len(told) == 1
        assert "user's code" not in told[0]
        assert said(await client.ask("d", ask_for("a"), due())) == "a 3"


async def test_whoever_hears_of_the_worker_cannot_end_it(caplog: pytest.LogCaptureFixture) -> None:
    heard: set[str] = set()

    def hear(news: object) -> None:
        heard.add(type(news).__name__)
        raise RuntimeError("the user's code")

    client = EngineClient(hear, hear, lambda _choice: (sys.executable, "-c", COUNTING))
    await client.start(EngineChoice())
    try:
        await until(client, State.READY)
        assert said(await client.ask("d", ask_for("fault"), due())) is Reason.WORKER_FAILED
        watched = asyncio.ensure_future(client.ask("d", ask_for("slow"), time.monotonic() + 1, hear))
        await asyncio.sleep(0.02)
        client.heard(CanvasPreview(client.pending.newest("d").id, 0, ()))
        assert said(await watched) is Reason.DEADLINE
        assert said(await client.ask("d", ask_for("a"), due())) == "a 3"
        assert client.process.deaths == 0
    finally:
        await client.stop()
    assert heard == {"Status", "str", "CanvasPreview"}
    assert "RuntimeError" in caplog.text
    assert "user's code" not in caplog.text


async def test_the_worker_gets_the_text_around_documents() -> None:
    async with counting() as (client, _):
        client.index_project(ProjectText.of("some"))
        client.index_project(ProjectText())
        client.index_project(ProjectText.of("more"))
        async with asyncio.timeout(WAIT):
            while said(await client.ask("d", ask_for("project text"), due())) != "some more":
                client.forget("d")
                await asyncio.sleep(0.01)


async def test_an_engine_that_has_no_use_for_it_is_not_given_any() -> None:
    async with counting() as (client, _):
        client.status = structs.replace(client.status, window=WindowSettings())
        client.index_project(ProjectText.of("some"))
        await asyncio.sleep(0.05)
        assert said(await client.ask("d", ask_for("project text"), due())) == "none"


async def test_before_it_is_ready() -> None:
    async with started(sys.executable, "-c", "import sys; sys.stdin.read()") as (client, _):
        client.prefetch("d", ask_for("a"))
        assert said(await client.ask("d", ask_for("a"), due())) is Reason.LOADING


async def test_one_that_keeps_dying_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "RESTART_SECONDS", 0.0)
    async with started(sys.executable, "-S", "-c", "raise SystemExit(3)") as (client, told):
        await until(client, State.FAILED)
        assert said(await client.ask("d", ask_for("a"), due())) is Reason.WORKER_FAILED
        assert client.process.deaths == worker_process.DEATHS
        assert ["restarted" in sentence for sentence in told] == [True, False]
        assert "infill.restartEngine" in told[1]
        assert not client.process.running


@pytest.mark.parametrize(("loading", "ready", "deaths"), [(0.9, 0.0, 2), (0.0, 0.9, 1)])
async def test_a_long_life_speaks_for_a_worker_and_a_long_loading_does_not(
    loading: float, ready: float, deaths: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_process, "HEALTHY_SECONDS", 0.6)
    monkeypatch.setattr(worker_process, "RESTART_SECONDS", 0.0)
    script = f"""
import sys, time
from infill_engine.serving.frames import encode
from infill_engine.serving.protocol import *
time.sleep({loading})
sys.stdout.buffer.write(encode(Status(State.READY)))
sys.stdout.flush()
time.sleep({ready})
"""
    begun = []

    def command(_choice: EngineChoice) -> list[str]:
        begun.append(client.process.deaths)
        return [sys.executable, "-c", script]

    client = EngineClient(lambda _status: None, lambda _sentence: None, command)
    await client.start(EngineChoice())
    try:
        async with asyncio.timeout(WAIT):
            while len(begun) < 3:
                await asyncio.sleep(0.01)
    finally:
        await client.stop()
    assert begun == [0, 1, deaths]


async def test_one_that_cannot_be_started() -> None:
    async with started("/no/such/program") as (client, told):
        await until(client, State.FAILED)
        assert len(told) == 1
        assert "could not be started" in told[0]


async def test_frames_that_make_no_sense_are_survived() -> None:
    noise = (
        r"import sys, time; sys.stdout.buffer.write(b'\0\0\0\3abc\xff\xff\xff\xff');"
        "sys.stdout.flush(); time.sleep(60)"
    )
    async with started(sys.executable, "-S", "-c", noise) as (_, told):
        async with asyncio.timeout(WAIT):
            while not told:
                await asyncio.sleep(0.01)
        assert "restarted" in told[0]


@pytest.fixture(scope="module")
def dream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return masked.publish("dream", masked.stock_network("qwen2"), tmp_path_factory.mktemp("model") / "dream")


async def test_a_model_that_computes_the_context_in_every_step_asks_for_less_text(dream: Path) -> None:
    client = EngineClient(lambda _status: None, lambda _sentence: None)
    await client.start(EngineChoice(str(dream), "cpu", Precision.FP32))
    try:
        await until(client, State.READY)
        assert client.status.window == USUAL_WINDOW
    finally:
        await client.stop()
