"""Clients of one dispatch: they cannot reach each other, and time is shared fairly."""

import queue
import threading

import pytest
from held_engine import WAIT, HeldEngine

from infill_engine.serving import dispatch
from infill_engine.serving.duty_cycle import HALF_LIFE_SECONDS, Shares
from infill_engine.serving.protocol import (
    LATENCY_BOUNDS_MS,
    Alive,
    Answered,
    Cancel,
    DocumentChanged,
    IndexProject,
    Infill,
    Late,
    Measure,
    Measured,
    Message,
    Prefetch,
    State,
    Status,
)
from infill_engine.serving.shared_engine import SharedEngine
from infill_engine.types import Answer, Candidate, InfillRequest, ProjectText, Reason, Surroundings

FAR = 1000.0


class Client:
    def __init__(self, server: SharedEngine) -> None:
        self.sent: queue.Queue[Message] = queue.Queue()
        self.server, self.number = server, server.join(self.sent.put)

    def infill(self, request_id: int, prefix: str, document: str = "d") -> None:
        self.server.receive(self.number, Infill(request_id, document, InfillRequest(prefix, ""), FAR))

    def next(self) -> tuple[int, object]:
        while isinstance(message := self.sent.get(timeout=WAIT), Alive | Status):
            pass
        assert isinstance(message, Answered)
        return message.id, message.answer.reason or message.answer.candidates[0].text


class Shared:
    """A shared engine that holds every call; the test's clock advances by hand."""

    def __init__(self) -> None:
        self.engine, self.seconds = HeldEngine(), 0.0
        self.server = SharedEngine(lambda progress: self.engine, lambda: self.seconds)
        self.thread = threading.Thread(target=self.server.dispatch.run, daemon=True)
        first = Client(self.server)
        self.thread.start()
        while getattr(first.sent.get(timeout=WAIT), "state", None) is not State.READY:
            pass
        self.server.leave(first.number)

    def called(self) -> tuple[str, str]:
        return self.engine.calls.get(timeout=WAIT)

    def finish(self, seconds: float = 0.0) -> None:
        self.seconds += seconds
        self.engine.finish.release()


@pytest.fixture
def shared() -> Shared:
    return Shared()


def test_the_same_numbers_and_names_are_kept_apart(shared: Shared) -> None:
    one, other = Client(shared.server), Client(shared.server)
    one.infill(1, "mine")
    assert shared.called() == ("answer", "mine")
    other.infill(1, "yours")
    other.server.receive(other.number, Cancel(1))
    assert other.next() == (1, Reason.CANCELLED)
    shared.finish()
    assert one.next() == (1, "mine!")
    assert other.sent.qsize() == 0 or all(isinstance(each, Alive) for each in other.sent.queue)


def test_who_has_had_less_time_goes_next(shared: Shared) -> None:
    greedy, modest = Client(shared.server), Client(shared.server)
    greedy.infill(1, "first")
    assert shared.called()[1] == "first"
    for number in range(2, 5):
        greedy.infill(number, f"more {number}", f"d{number}")
    modest.infill(1, "modest")
    shared.finish(seconds=1.0)
    assert shared.called() == ("answer", "modest")
    shared.finish(seconds=2.0)
    assert shared.called() == ("answer", "more 2")
    shared.finish()


def test_a_client_that_leaves_is_forgotten(shared: Shared) -> None:
    one, other = Client(shared.server), Client(shared.server)
    one.infill(1, "running")
    assert shared.called()[1] == "running"
    one.infill(2, "waiting", "another")
    shared.server.receive(one.number, Prefetch("third", Surroundings("warming", "")))
    other.infill(1, "yours")
    shared.server.leave(one.number)
    assert shared.called() == ("answer", "yours")
    shared.finish()
    assert other.next() == (1, "yours!")
    assert shared.server.measured().waiting == 0
    assert shared.engine.calls.qsize() == 0


def test_too_many_requests_of_one_client_are_answered_at_once(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "MOST_ASKED", 3)
    greedy = Client(shared.server)
    for number in range(5):
        greedy.infill(number, f"{number}", f"d{number}")
    assert [greedy.next(), greedy.next()] == [(3, Reason.SUPERSEDED), (4, Reason.SUPERSEDED)]


def test_what_is_measured(shared: Shared) -> None:
    one = Client(shared.server)
    one.infill(1, "a")
    shared.called()
    shared.finish(seconds=0.25)
    assert one.next() == (1, "a!")
    shared.server.receive(one.number, Measure())
    while not isinstance(measured := one.sent.get(timeout=WAIT), Measured):
        pass
    assert (measured.clients, measured.answers, measured.waiting) == (0, 1, 0)
    assert measured.latency_ms == (250.0, 250.0, 250.0)
    assert measured.latency_counts[LATENCY_BOUNDS_MS.index(300)] == sum(measured.latency_counts) == 1


def test_shares_decay() -> None:
    seconds = 0.0
    shares = Shares(lambda: seconds)
    shares.charge(1, 4.0)
    seconds = HALF_LIFE_SECONDS
    assert shares.used(1) == pytest.approx(2.0)
    assert shares.used(2) == 0.0


def test_what_is_found_late_is_told_to_its_client_under_its_own_number(shared: Shared) -> None:
    one, other = Client(shared.server), Client(shared.server)
    shared.engine.searches = True
    one.server.receive(one.number, Infill(5, "d", InfillRequest("nothing in time", ""), FAR, late=True))
    shared.finish()
    assert one.next() == (5, Reason.DEADLINE)
    shared.finish()
    assert one.sent.get(timeout=WAIT) == Late(5, Answer((Candidate("found", 0.9),)))
    assert all(isinstance(other.sent.get(), Status) for _ in range(other.sent.qsize()))
    one.server.receive(one.number, Infill(6, "d", InfillRequest("nothing in time", ""), FAR, late=True))
    shared.finish()
    assert one.next() == (6, Reason.DEADLINE)
    other.server.receive(other.number, DocumentChanged("d"))  # a document of the same name
    assert [shared.called()[0] for _ in range(4)] == ["answer", "search"] * 2
    assert "nothing in time cancelled" not in shared.engine.done
    one.server.receive(one.number, IndexProject(ProjectText.of("x")))
    one.server.receive(one.number, DocumentChanged("d"))
    assert shared.called() == ("count", "x")
    shared.finish()
