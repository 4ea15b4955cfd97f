"""What the search finds after an answer, and what ends it."""

import pytest
from held_engine import WAIT, Bench

from infill_engine.serving import searching
from infill_engine.serving.protocol import Alive, DocumentChanged, Late, Message
from infill_engine.serving.searching import LATE_SECONDS
from infill_engine.types import Reason

NOTHING = "nothing in time"


@pytest.fixture
def late(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """An engine whose searches go on, on a machine without a battery."""
    bench.engine.searches = True
    monkeypatch.setattr(searching, "on_battery", lambda: False)
    return bench


def sent(bench: Bench) -> Message:
    while isinstance(message := bench.sent.get(timeout=WAIT), Alive):
        pass
    return message


def found(bench: Bench) -> tuple[int, str]:
    """The number and the first text of the next late answer."""
    message = sent(bench)
    assert isinstance(message, Late)
    return message.id, message.answer.candidates[0].text


def test_what_is_found_after_an_answer_is_told(late: Bench) -> None:
    late.engine.finds = ["more", "more and more"]
    late.infill(1, NOTHING, late=True)
    late.engine.finish.release(3)
    assert late.next_answer() == (1, Reason.DEADLINE)
    assert [found(late), found(late)] == [(1, "more"), (1, "more and more")]
    assert late.engine.awaited


def test_unread_text_is_read_before_the_search_goes_on(late: Bench) -> None:
    late.infill(1, "incomplete", late=True)
    late.engine.finish.release(3)
    assert [late.next_call()[0] for _ in range(3)] == ["answer", "prefetch", "search"]
    assert late.next_answer() == (1, "incomplete!")
    assert found(late) == (1, "found")


@pytest.mark.parametrize(
    ("battery", "wanted", "seconds"), [(True, True, 0), (False, False, 0), (False, True, LATE_SECONDS + 1)]
)
def test_nobody_is_told_on_battery_or_unasked_or_when_it_is_too_late(
    late: Bench, monkeypatch: pytest.MonkeyPatch, battery: bool, wanted: bool, seconds: float
) -> None:
    monkeypatch.setattr(searching, "on_battery", lambda: battery)
    late.infill(1, "a", late=wanted)
    assert late.next_call() == ("answer", "a")
    late.engine.finish.release()
    assert late.next_answer() == (1, "a!")
    assert late.next_call() == ("search", "a")
    late.seconds += seconds
    late.index_project("x")
    late.engine.finish.release()
    assert late.next_call() == ("count", "x"), "the search has ended"
    late.engine.finish.release()
    late.infill(2, "b", "e")
    late.engine.finish.release()
    assert late.next_answer() == (2, "b!")


@pytest.mark.parametrize("other", ["changed", "infill", "infill of another document", "prefetch of another document"])
def test_it_ends_for_whatever_comes_and_delays_nothing(late: Bench, other: str) -> None:
    late.infill(1, NOTHING, late=True)
    late.engine.finish.release()
    assert late.next_answer() == (1, Reason.DEADLINE)
    assert [late.next_call()[0] for _ in range(2)] == ["answer", "search"]
    if other == "changed":
        late.dispatch.receive(DocumentChanged("d"))
        late.index_project("x")
        assert late.next_call() == ("count", "x")
        late.engine.finish.release()
    elif other == "prefetch of another document":
        late.prefetch("b", "e")
        assert late.next_call() == ("prefetch", "b")
        late.engine.finish.release()
    else:
        late.infill(2, "b", "d" if other == "infill" else "e")
        assert late.next_call() == ("answer", "b")
        late.engine.finish.release()
        assert late.next_answer() == (2, "b!"), "and nothing is told of the search that has ended"
    assert late.engine.done[:2] == [NOTHING, f"{NOTHING} cancelled"]


def calls(bench: Bench, number: int) -> list[str]:
    return [bench.next_call()[0] for _ in range(number)]


@pytest.mark.parametrize("during", ["answer", "search"])
def test_next_edits_wait_until_a_search_that_showed_nothing_has_something(late: Bench, during: str) -> None:
    late.engine.finds = ["more", "and more"]
    late.infill(1, NOTHING, late=True)
    assert calls(late, 1) == ["answer"]
    if during == "answer":
        late.next_edit(2, "text")
    late.engine.finish.release()
    assert late.next_answer() == (1, Reason.DEADLINE)
    assert calls(late, 1) == ["search"]
    if during == "search":
        late.next_edit(2, "text")
    late.engine.finish.release()
    assert found(late) == (1, "more")
    assert calls(late, 1) == ["next edit"]
    late.engine.finish.release(2)
    assert calls(late, 1) == ["search"], "the rest of it"


def test_next_edits_go_before_a_search_whose_answer_is_shown(late: Bench) -> None:
    late.infill(1, "a", late=True)
    late.engine.finish.release()
    assert late.next_answer() == (1, "a!")
    assert calls(late, 2) == ["answer", "search"]
    late.next_edit(2, "text")
    assert calls(late, 1) == ["next edit"]
    late.engine.finish.release()


def test_alternatives_go_before_every_search(late: Bench) -> None:
    late.infill(1, NOTHING, late=True)
    late.engine.finish.release()
    assert calls(late, 2) == ["answer", "search"]
    late.infill(2, "b", background=True)
    assert calls(late, 1) == ["answer"]
    late.engine.finish.release()


def test_a_search_goes_on_although_older_text_waits_to_be_read(late: Bench) -> None:
    late.index_project("x")  # meanwhile, all others arrive
    assert late.next_call() == ("count", "x")
    late.prefetch("older")
    late.seconds += 0.1
    late.infill(1, NOTHING, late=True)
    late.engine.finish.release(2)
    assert late.next_answer() == (1, Reason.DEADLINE)
    assert [late.next_call() for _ in range(2)] == [("answer", NOTHING), ("prefetch", "older")]
    late.engine.finish.release(2)
    assert late.next_call() == ("search", NOTHING)
    assert found(late) == (1, "found")


def test_a_search_that_waits_ends_when_the_text_changes(late: Bench) -> None:
    late.infill(1, NOTHING, late=True)
    assert late.next_call() == ("answer", NOTHING)
    late.infill(2, "b", "e")
    late.engine.finish.release()
    assert late.next_call() == ("answer", "b")
    late.dispatch.receive(DocumentChanged("d"))
    late.index_project("x")
    late.engine.searches = False  # after the other answer
    late.engine.finish.release()
    assert late.next_call() == ("count", "x")
    late.engine.finish.release()


@pytest.mark.parametrize(("show_from", "urgent"), [(0.0, False), (0.6, True)])
def test_only_where_nothing_is_shown_it_does_not_wait_for_the_duty_cycle(
    late: Bench, show_from: float, urgent: bool
) -> None:
    late.engine.show_from = show_from
    late.infill(1, "a", late=True)
    assert late.next_call() == ("answer", "a")
    late.engine.finish.release()
    assert late.next_call() == ("search", "a")
    late.seconds += 4.0  # more than the share of ten seconds
    late.engine.finish.release()
    late.infill(2, "b", late=True)
    late.engine.finish.release()
    assert late.next_call() == ("answer", "b")
    late.index_project("x")
    assert late.next_call() == (("search", "b") if urgent else ("count", "x"))
    late.engine.finish.release(2)
