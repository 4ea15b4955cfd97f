"""Who gets the compute slot. The engine here computes until the test lets it finish, so that every order is certain."""

import queue
import threading
from collections.abc import Iterator

import pytest

from infill_engine.budget.deadline import Deadline
from infill_engine.errors import ModelNotFoundError
from infill_engine.serving.dispatch import COUNTED_TEXTS, MOST_ASIDE, WARM_DOCUMENTS, Dispatch
from infill_engine.serving.protocol import (
    Alive,
    Answered,
    Cancel,
    Failure,
    Infill,
    Message,
    Shutdown,
    State,
    Status,
    Surround,
    Warm,
)
from infill_engine.settings import WindowSettings
from infill_engine.types import Answer, Candidate, InfillRequest, Reason, Surroundings

FAR = 1000.0  # seconds on the test's clock, which stands at 0
WAIT = 10  # seconds after which a test has failed
SECRET = "some of the user's code"


class HeldEngine:
    """Every call is put on `calls` and ends when told to, or when it is cancelled."""

    name, device, window, profile = "held", "cpu", WindowSettings(70, 30), "slowly"

    def __init__(self) -> None:
        self.calls: queue.Queue[tuple[str, str]] = queue.Queue()
        self.finish = threading.Semaphore(0)
        self.done: list[str] = []

    def answer(self, request: InfillRequest, deadline: Deadline, watch: object = None) -> Answer:
        self._hold("answer", request, deadline)
        if request.prefix == "fault":
            raise KeyError(SECRET)
        if request.prefix == "out of memory":
            self.name = "smaller"
        if deadline.cancelled():
            return Answer(reason=Reason.CANCELLED)
        return Answer((Candidate(request.prefix + "!", 0.5),), unread=request.prefix == "unread")

    def warm(self, request: InfillRequest, deadline: Deadline) -> None:
        self._hold("warm", request, deadline)
        if request.prefix == "out of memory":
            self.name = "smaller"

    def surround(self, surroundings: Surroundings) -> Iterator[None]:
        """As many pieces as the text has characters; a fault at an exclamation mark."""
        for character in surroundings.text:
            self._hold("count", InfillRequest(character, ""), Deadline.after_ms(1e9))
            if character == "!":
                raise KeyError(SECRET)
            yield

    def _hold(self, kind: str, request: InfillRequest, deadline: Deadline) -> None:
        self.calls.put((kind, request.prefix))
        while not self.finish.acquire(timeout=0.005):
            if deadline.cancelled():
                self.done.append(f"{request.prefix} cancelled")
                return
        self.done.append(request.prefix)


class Bench:
    """A dispatch with its compute thread, and what it sent."""

    def __init__(self, load: object = None) -> None:
        self.engine = HeldEngine()
        self.sent: queue.Queue[Message] = queue.Queue()
        self.answers: dict[int, list[object]] = {}
        self.dispatch = Dispatch(load or (lambda progress: self.engine), self.sent.put, lambda: 0.0)
        self.thread = threading.Thread(target=self.dispatch.run, daemon=True)
        self.thread.start()

    def infill(
        self, request_id: int, prefix: str, document: str = "d", expires_at: float = FAR, aside: bool = False
    ) -> None:
        self.dispatch.receive(Infill(request_id, document, InfillRequest(prefix, ""), expires_at, aside))

    def warm(self, prefix: str, document: str = "d") -> None:
        self.dispatch.receive(Warm(document, InfillRequest(prefix, "")))

    def surround(self, text: str) -> None:
        self.dispatch.receive(Surround(Surroundings.of(text)))

    def next_answer(self) -> tuple[int, object]:
        """The id of the next answer and its reason, or its first candidate's text."""
        while isinstance(message := self.sent.get(timeout=WAIT), Alive):
            pass
        if isinstance(message, Failure):
            return message.id, message.message
        assert isinstance(message, Answered)
        answer = message.answer
        return message.id, answer.reason or answer.candidates[0].text

    def next_call(self) -> tuple[str, str]:
        return self.engine.calls.get(timeout=WAIT)

    def statuses(self) -> list[State]:
        states = []
        while not states or states[-1] is State.LOADING:
            message = self.sent.get(timeout=WAIT)
            assert isinstance(message, Status)
            states.append(message.state)
        return states


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    assert made.statuses() == [State.LOADING, State.READY]
    yield made
    made.dispatch.close()
    made.thread.join(WAIT)
    assert not made.thread.is_alive()


def test_an_infill_is_answered(bench: Bench) -> None:
    bench.infill(1, "a")
    bench.engine.finish.release()
    assert bench.next_answer() == (1, "a!")


def test_what_there_was_no_time_to_read_is_read_when_nobody_waits(bench: Bench) -> None:
    bench.infill(1, "unread")
    bench.infill(2, "b", document="e")
    bench.engine.finish.release(2)
    assert [bench.next_call() for _ in range(3)] == [("answer", "unread"), ("answer", "b"), ("warm", "unread")]


def test_what_waits_to_be_read_is_not_replaced_by_what_is_older(bench: Bench) -> None:
    bench.infill(1, "unread")
    assert bench.next_call() == ("answer", "unread")
    bench.warm("newer")
    bench.engine.finish.release(2)
    assert bench.next_answer() == (1, "unread!")
    assert bench.next_call() == ("warm", "newer")
    bench.infill(2, "b")
    assert bench.next_call() == ("answer", "b")


def test_no_more_contexts_wait_than_an_engine_remembers(bench: Bench) -> None:
    bench.infill(1, "unread", "first")
    assert bench.next_call() == ("answer", "unread")
    for number in range(WARM_DOCUMENTS):
        bench.warm(str(number), str(number))
    bench.engine.finish.release(1 + WARM_DOCUMENTS)
    found = [bench.next_call()[1] for _ in range(WARM_DOCUMENTS)]
    assert found == ["1", "2", "3", "unread"]


def test_a_newer_one_replaces_those_waiting_and_stops_the_running_one(bench: Bench) -> None:
    bench.infill(1, "a")
    assert bench.next_call() == ("answer", "a")
    bench.infill(2, "ab")
    assert bench.next_answer() == (1, Reason.SUPERSEDED)
    bench.infill(3, "abc")
    bench.infill(4, "abcd")
    answers = {bench.next_answer() for _ in range(2)}
    assert answers == {(2, Reason.SUPERSEDED), (3, Reason.SUPERSEDED)}
    while bench.next_call() != ("answer", "abcd"):
        pass
    bench.engine.finish.release()
    assert bench.next_answer() == (4, "abcd!")


def test_documents_do_not_disturb_each_other(bench: Bench) -> None:
    bench.infill(1, "a", "one")
    bench.next_call()
    bench.infill(2, "b", "two")
    bench.infill(3, "c", "three")
    bench.engine.finish.release(3)
    assert [bench.next_answer() for _ in range(3)] == [(1, "a!"), (2, "b!"), (3, "c!")]


def test_cancelling_the_running_one_stops_it(bench: Bench) -> None:
    bench.infill(1, "a")
    bench.next_call()
    bench.dispatch.receive(Cancel(1))
    assert bench.next_answer() == (1, Reason.CANCELLED)
    bench.infill(2, "b")
    bench.next_call()
    bench.engine.finish.release()
    assert bench.next_answer() == (2, "b!")
    assert bench.engine.done == ["a cancelled", "b"]


def test_cancelling_one_that_waits(bench: Bench) -> None:
    bench.infill(1, "a", "one")
    bench.next_call()
    bench.infill(2, "b", "two")
    bench.dispatch.receive(Cancel(2))
    assert bench.next_answer() == (2, Reason.CANCELLED)
    bench.dispatch.receive(Cancel(2))  # once more, and one that never was
    bench.dispatch.receive(Cancel(99))
    bench.engine.finish.release()
    assert bench.next_answer() == (1, "a!")
    assert bench.sent.empty()


def test_an_engine_that_has_taken_another_model_says_so(bench: Bench) -> None:
    bench.infill(1, "out of memory")
    bench.infill(2, "b", "e")
    bench.engine.finish.release(2)
    assert bench.next_answer() == (1, "out of memory!")
    told = bench.sent.get(timeout=WAIT)
    assert isinstance(told, Status)
    assert (told.state, told.model) == (State.READY, "smaller")
    assert bench.next_answer() == (2, "b!")
    assert bench.sent.empty()


def test_one_that_has_taken_another_model_while_it_read_ahead_says_so(bench: Bench) -> None:
    bench.warm("out of memory")
    bench.engine.finish.release()
    seen = [bench.sent.get(timeout=WAIT) for _ in range(2)]
    assert isinstance(seen[0], Alive)
    assert isinstance(seen[1], Status)
    assert seen[1].model == "smaller"


def test_an_expired_one_costs_no_model_call(bench: Bench) -> None:
    bench.infill(1, "late", expires_at=-1.0)
    assert bench.next_answer() == (1, Reason.DEADLINE)
    assert bench.engine.calls.empty()


def test_warming_runs_when_idle_and_yields(bench: Bench) -> None:
    bench.warm("w")
    assert bench.next_call() == ("warm", "w")
    bench.infill(1, "a", "another")
    assert bench.next_call() == ("answer", "a")
    assert bench.engine.done == ["w cancelled"]
    bench.warm("v")
    bench.engine.finish.release()
    assert bench.next_answer() == (1, "a!")
    assert bench.next_call() == ("warm", "v")
    bench.engine.finish.release()


def test_a_newer_context_of_the_same_document_is_warmed_at_once(bench: Bench) -> None:
    bench.warm("old")
    assert bench.next_call() == ("warm", "old")
    bench.warm("elsewhere", "another")
    bench.warm("new")
    assert bench.next_call() == ("warm", "elsewhere")
    assert bench.engine.done == ["old cancelled"]
    bench.engine.finish.release()
    assert bench.next_call() == ("warm", "new")
    bench.engine.finish.release()


def test_a_text_is_counted_piece_by_piece_behind_everything_else(bench: Bench) -> None:
    bench.surround("xyz")
    assert bench.next_call() == ("count", "x")
    bench.warm("w")
    bench.infill(1, "a")
    bench.engine.finish.release(4)
    assert bench.next_answer() == (1, "a!")
    assert [bench.next_call() for _ in range(3)] == [("answer", "a"), ("warm", "w"), ("count", "y")]
    assert bench.next_call() == ("count", "z")
    bench.engine.finish.release()
    bench.infill(2, "b")
    bench.engine.finish.release()
    assert bench.next_answer() == (2, "b!")


def test_what_names_a_text_is_read_again_when_that_is_known(bench: Bench) -> None:
    known, other = Surroundings.of("y"), Surroundings.of("z")
    bench.engine.finish.release(3)
    bench.dispatch.receive(Warm("d", InfillRequest("w", "", surroundings=known.name)))
    assert bench.next_call() == ("warm", "w")
    for text in (other, known):
        bench.dispatch.receive(Surround(text))
    assert [bench.next_call() for _ in range(3)] == [("count", "z"), ("count", "y"), ("warm", "w")]


def test_a_fault_in_counting_ends_that_text_alone(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.engine.finish.release(9)
    bench.surround("!x")
    bench.surround("y")
    assert [bench.next_call() for _ in range(2)] == [("count", "!"), ("count", "y")]
    bench.infill(1, "a")
    assert bench.next_answer() == (1, "a!")
    assert SECRET not in capsys.readouterr().err


def test_a_text_that_waits_is_filed_once_and_only_so_many_wait(bench: Bench) -> None:
    bench.infill(1, "a")
    bench.next_call()
    for number in range(COUNTED_TEXTS + 1):
        bench.surround(str(number))
    bench.surround(str(COUNTED_TEXTS))
    bench.engine.finish.release(COUNTED_TEXTS + 2)
    assert [bench.next_call()[1] for _ in range(COUNTED_TEXTS)] == [str(n + 1) for n in range(COUNTED_TEXTS)]
    bench.infill(2, "b")
    assert bench.next_call() == ("answer", "b")


def test_only_the_newest_contexts_are_warmed(bench: Bench) -> None:
    bench.infill(1, "a")
    bench.next_call()
    for number in range(WARM_DOCUMENTS + 2):
        bench.warm(f"w{number}", f"document {number}")
    bench.warm("again", "document 5")
    bench.engine.finish.release(WARM_DOCUMENTS + 1)
    warmed = [bench.next_call()[1] for _ in range(WARM_DOCUMENTS)]
    assert warmed == ["w2", "w3", "w4", "again"]


def test_a_fault_of_the_engine_is_an_answer_without_the_users_text(bench: Bench, capfd: pytest.CaptureFixture) -> None:
    bench.infill(1, "fault")
    bench.engine.finish.release()
    number, message = bench.next_answer()
    assert (number, "KeyError" in str(message), SECRET in str(message)) == (1, True, False)
    bench.infill(2, "b")
    bench.engine.finish.release()
    assert bench.next_answer() == (2, "b!")
    assert SECRET not in capfd.readouterr().err


def test_closing_answers_everything(bench: Bench) -> None:
    bench.infill(1, "a", "one")
    bench.next_call()
    bench.infill(2, "b", "two")
    bench.dispatch.receive(Shutdown())
    assert {bench.next_answer() for _ in range(2)} == {(1, Reason.CANCELLED), (2, Reason.CANCELLED)}
    bench.infill(3, "c")
    assert bench.next_answer() == (3, Reason.WORKER_FAILED)
    bench.thread.join(WAIT)
    assert not bench.thread.is_alive()


def test_while_loading_infills_are_answered_and_the_load_goes_on() -> None:
    loaded = threading.Event()
    engine = HeldEngine()

    def load(progress: object) -> HeldEngine:
        progress("halfway", 0.5)
        assert loaded.wait(WAIT)
        return engine

    bench = Bench(load)
    assert bench.sent.get(timeout=WAIT) == Status(State.LOADING)
    assert bench.sent.get(timeout=WAIT) == Status(State.LOADING, "halfway", 0.5)
    for number in range(20):
        bench.infill(number, "typing" * number)
        assert bench.next_answer() == (number, Reason.LOADING)
    bench.warm("w")
    loaded.set()
    assert bench.sent.get(timeout=WAIT) == Status(State.READY, "slowly", 1.0, "held", "cpu", WindowSettings(70, 30))
    assert engine.calls.get(timeout=WAIT) == ("warm", "w")
    bench.dispatch.close()


FAULTS = [
    (ModelNotFoundError("No model `x`. Name a folder."), "No model `x`. Name a folder."),
    (RuntimeError("secret text"), "The engine met an unexpected RuntimeError; the worker's log shows where."),
]


@pytest.mark.parametrize(("fault", "detail"), FAULTS, ids=["ours", "any other"])
def test_a_load_that_fails(fault: Exception, detail: str) -> None:
    def load(progress: object) -> HeldEngine:
        raise fault

    bench = Bench(load)
    assert bench.sent.get(timeout=WAIT) == Status(State.LOADING)
    assert bench.sent.get(timeout=WAIT) == Status(State.FAILED, detail)
    bench.infill(1, "a")
    assert bench.next_answer() == (1, Reason.WORKER_FAILED)
    bench.warm("w")
    bench.dispatch.close()
    bench.thread.join(WAIT)
    assert not bench.thread.is_alive()


def test_an_infill_interrupts_one_that_is_aside_which_starts_again(bench: Bench) -> None:
    bench.infill(1, "aside", aside=True)
    assert bench.next_call() == ("answer", "aside")
    bench.infill(2, "first", document="e")
    assert bench.next_call() == ("answer", "first")
    bench.engine.finish.release()
    assert bench.next_answer() == (2, "first!")
    assert bench.next_call() == ("answer", "aside")
    bench.engine.finish.release()
    assert bench.next_answer() == (1, "aside!")


def test_infills_that_are_aside_replace_none_and_come_after_all_others(bench: Bench) -> None:
    bench.infill(1, "running")
    assert bench.next_call() == ("answer", "running")
    bench.infill(2, "one", aside=True)
    bench.infill(3, "two", aside=True)
    bench.infill(4, "other", document="e")
    bench.warm("w")
    bench.engine.finish.release(5)
    assert [bench.next_answer()[0] for _ in range(4)] == [1, 4, 2, 3]


def test_of_too_many_that_are_aside_the_oldest_is_given_up(bench: Bench) -> None:
    bench.infill(0, "running")
    assert bench.next_call() == ("answer", "running")
    for number in range(1, MOST_ASIDE + 2):
        bench.infill(number, str(number), aside=True)
    assert bench.next_answer() == (1, Reason.SUPERSEDED)


def test_what_is_aside_can_be_cancelled(bench: Bench) -> None:
    bench.infill(1, "running")
    bench.infill(2, "aside", aside=True)
    bench.dispatch.receive(Cancel(2))
    assert bench.next_answer() == (2, Reason.CANCELLED)
    bench.engine.finish.release()
    assert bench.next_answer() == (1, "running!")
