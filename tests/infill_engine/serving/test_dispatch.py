"""Who gets the compute slot. The engine here computes until the test lets it finish, so that every order is certain."""

import threading

import pytest
from held_engine import SECRET, WAIT, Bench, HeldEngine

from infill_engine.errors import ModelNotFoundError
from infill_engine.serving.protocol import Cancel, Shutdown, State, Status
from infill_engine.serving.queues import MOST_BACKGROUND
from infill_engine.settings import WindowSettings
from infill_engine.types import Reason


def test_an_infill_is_answered(bench: Bench) -> None:
    bench.infill(1, "a")
    bench.engine.finish.release()
    assert bench.next_answer() == (1, "a!")


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


def test_an_expired_one_costs_no_model_call(bench: Bench) -> None:
    bench.infill(1, "late", expires_at=-1.0)
    assert bench.next_answer() == (1, Reason.DEADLINE)
    assert bench.engine.calls.empty()


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
    bench.prefetch("w")
    loaded.set()
    assert bench.sent.get(timeout=WAIT) == Status(
        State.READY, "slowly", 1.0, "held", "cpu", WindowSettings(70, 30), least_ms=20.0
    )
    assert engine.calls.get(timeout=WAIT) == ("prefetch", "w")
    bench.dispatch.close()


FAULTS = [
    (ModelNotFoundError("No model `x`. Name a folder."), "No model `x`. Name a folder."),
    (RuntimeError("secret text"), "Internal error in the engine (RuntimeError). Its log shows where."),
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
    bench.prefetch("w")
    bench.dispatch.close()
    bench.thread.join(WAIT)
    assert not bench.thread.is_alive()


def test_an_infill_interrupts_one_that_is_aside_which_starts_again(bench: Bench) -> None:
    bench.infill(1, "background", background=True)
    assert bench.next_call() == ("answer", "background")
    bench.infill(2, "first", document="e")
    assert bench.next_call() == ("answer", "first")
    bench.engine.finish.release()
    assert bench.next_answer() == (2, "first!")
    assert bench.next_call() == ("answer", "background")
    bench.engine.finish.release()
    assert bench.next_answer() == (1, "background!")


def test_another_one_that_is_aside_does_not_undo_the_interruption(bench: Bench) -> None:
    bench.infill(1, "background", background=True)
    assert bench.next_call() == ("answer", "background")
    with bench.dispatch._changed:  # both arrive before the engine stops
        bench.infill(2, "first", document="e")
        bench.infill(3, "another", background=True)
    for number, text in ((2, "first"), (1, "background"), (3, "another")):
        assert bench.next_call() == ("answer", text)
        bench.engine.finish.release()
        assert bench.next_answer() == (number, f"{text}!")


def test_infills_that_are_aside_replace_none_and_come_after_all_others(bench: Bench) -> None:
    bench.infill(1, "running")
    assert bench.next_call() == ("answer", "running")
    bench.infill(2, "one", background=True)
    bench.infill(3, "two", background=True)
    bench.infill(4, "other", document="e")
    bench.prefetch("w")
    bench.engine.finish.release(5)
    assert [bench.next_answer()[0] for _ in range(4)] == [1, 4, 2, 3]


def test_of_too_many_that_are_aside_the_oldest_is_given_up(bench: Bench) -> None:
    bench.infill(0, "running")
    assert bench.next_call() == ("answer", "running")
    for number in range(1, MOST_BACKGROUND + 2):
        bench.infill(number, str(number), background=True)
    assert bench.next_answer() == (1, Reason.SUPERSEDED)


def test_what_is_aside_can_be_cancelled(bench: Bench) -> None:
    bench.infill(1, "running")
    bench.infill(2, "background", background=True)
    bench.dispatch.receive(Cancel(2))
    assert bench.next_answer() == (2, Reason.CANCELLED)
    bench.engine.finish.release()
    assert bench.next_answer() == (1, "running!")


def test_a_fault_outside_the_engine_does_not_end_the_thread(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr(HeldEngine, "profile")  # which is read after each piece of work
    monkeypatch.setattr(bench.dispatch, "_answer", _raise_secret)
    bench.infill(1, "a")
    reason = bench.next_answer()
    assert reason == (1, "Internal error in the engine (KeyError). Its log shows where.")
    monkeypatch.undo()
    for number in (2, 3):
        bench.infill(number, "b")
        bench.engine.finish.release()
        assert bench.next_answer() == (number, "b!")
    told = capsys.readouterr().err
    assert "KeyError" in told
    assert SECRET not in told


def test_an_engine_that_loses_an_attribute_answers_on(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(HeldEngine, "profile")
    for number in (1, 2):
        bench.infill(number, "a")
        bench.engine.finish.release()
        assert bench.next_answer() == (number, "a!")


def test_an_engine_that_lacks_an_attribute_fails_to_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(HeldEngine, "profile")
    bench = Bench()
    assert bench.sent.get(timeout=WAIT) == Status(State.LOADING)
    failed = bench.sent.get(timeout=WAIT)
    assert isinstance(failed, Status)
    assert (failed.state, "AttributeError" in failed.detail) == (State.FAILED, True)
    bench.infill(1, "a")
    assert bench.next_answer() == (1, Reason.WORKER_FAILED)
    bench.dispatch.close()
    bench.thread.join(WAIT)


def _raise_secret(*_arguments: object) -> None:
    raise KeyError(SECRET)
