"""What the compute slot does while nobody waits for an answer."""

import pytest
from held_engine import FAR, SECRET, WAIT, Bench

from infill_engine.serving.protocol import Alive, IndexProject, Prefetch, Status
from infill_engine.serving.queues import MOST_INDEXED, MOST_PREFETCHES
from infill_engine.types import ProjectText, Surroundings


def test_what_there_was_no_time_to_read_is_read_when_nobody_waits(bench: Bench) -> None:
    bench.infill(1, "incomplete")
    bench.infill(2, "b", document="e")
    bench.engine.finish.release(2)
    assert [bench.next_call() for _ in range(3)] == [
        ("answer", "incomplete"),
        ("answer", "b"),
        ("prefetch", "incomplete"),
    ]


def test_what_waits_to_be_read_is_not_replaced_by_what_is_older(bench: Bench) -> None:
    bench.infill(1, "incomplete")
    assert bench.next_call() == ("answer", "incomplete")
    bench.prefetch("newer")
    bench.engine.finish.release(2)
    assert bench.next_answer() == (1, "incomplete!")
    assert bench.next_call() == ("prefetch", "newer")
    bench.infill(2, "b")
    assert bench.next_call() == ("answer", "b")


def test_no_more_contexts_wait_than_an_engine_remembers(bench: Bench) -> None:
    bench.infill(1, "incomplete", "first")
    assert bench.next_call() == ("answer", "incomplete")
    for number in range(MOST_PREFETCHES):
        bench.prefetch(str(number), str(number))
    bench.engine.finish.release(1 + MOST_PREFETCHES)
    found = [bench.next_call()[1] for _ in range(MOST_PREFETCHES)]
    assert found == ["1", "2", "3", "incomplete"]


def test_one_that_has_taken_another_model_while_it_read_ahead_says_so(bench: Bench) -> None:
    bench.prefetch("out of memory")
    bench.engine.finish.release()
    seen = [bench.sent.get(timeout=WAIT) for _ in range(2)]
    assert isinstance(seen[0], Alive)
    assert isinstance(seen[1], Status)
    assert seen[1].model == "smaller"


def test_prefetching_runs_when_idle_and_yields(bench: Bench) -> None:
    bench.prefetch("w")
    assert bench.next_call() == ("prefetch", "w")
    bench.infill(1, "a", "another")
    assert bench.next_call() == ("answer", "a")
    assert bench.engine.done == ["w cancelled"]
    bench.prefetch("v")
    bench.engine.finish.release()
    assert bench.next_answer() == (1, "a!")
    assert bench.next_call() == ("prefetch", "v")
    bench.engine.finish.release()


def test_a_newer_context_of_the_same_document_is_prefetched_at_once(bench: Bench) -> None:
    bench.prefetch("old")
    assert bench.next_call() == ("prefetch", "old")
    bench.prefetch("elsewhere", "another")
    bench.prefetch("new")
    assert bench.next_call() == ("prefetch", "elsewhere")
    assert bench.engine.done == ["old cancelled"]
    bench.engine.finish.release()
    assert bench.next_call() == ("prefetch", "new")
    bench.engine.finish.release()


def test_a_text_is_counted_piece_by_piece_behind_everything_else(bench: Bench) -> None:
    bench.index_project("xyz")
    assert bench.next_call() == ("count", "x")
    bench.prefetch("w")
    bench.infill(1, "a")
    bench.engine.finish.release(4)
    assert bench.next_answer() == (1, "a!")
    assert [bench.next_call() for _ in range(3)] == [("answer", "a"), ("prefetch", "w"), ("count", "y")]
    assert bench.next_call() == ("count", "z")
    bench.engine.finish.release()
    bench.infill(2, "b")
    bench.engine.finish.release()
    assert bench.next_answer() == (2, "b!")


def test_what_names_a_text_is_read_again_when_that_is_known(bench: Bench) -> None:
    known, other = ProjectText.of("y"), ProjectText.of("z")
    bench.engine.finish.release(3)
    bench.dispatch.receive(Prefetch("d", Surroundings("w", "", project_name=known.name)))
    assert bench.next_call() == ("prefetch", "w")
    for text in (other, known):
        bench.dispatch.receive(IndexProject(text))
    assert [bench.next_call() for _ in range(3)] == [("count", "z"), ("count", "y"), ("prefetch", "w")]


def test_a_fault_in_counting_ends_that_text_alone(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.engine.finish.release(9)
    bench.index_project("!x")
    bench.index_project("y")
    assert [bench.next_call() for _ in range(2)] == [("count", "!"), ("count", "y")]
    bench.infill(1, "a")
    assert bench.next_answer() == (1, "a!")
    assert SECRET not in capsys.readouterr().err


def test_a_text_that_waits_is_filed_once_and_only_so_many_wait(bench: Bench) -> None:
    bench.infill(1, "a")
    bench.next_call()
    for number in range(MOST_INDEXED + 1):
        bench.index_project(str(number))
    bench.index_project(str(MOST_INDEXED))
    bench.engine.finish.release(MOST_INDEXED + 2)
    assert [bench.next_call()[1] for _ in range(MOST_INDEXED)] == [str(n + 1) for n in range(MOST_INDEXED)]
    bench.infill(2, "b")
    assert bench.next_call() == ("answer", "b")


def test_only_the_newest_contexts_are_prefetched(bench: Bench) -> None:
    bench.infill(1, "a")
    bench.next_call()
    for number in range(MOST_PREFETCHES + 2):
        bench.prefetch(f"w{number}", f"document {number}")
    bench.prefetch("again", "document 5")
    bench.engine.finish.release(MOST_PREFETCHES + 1)
    prefetched = [bench.next_call()[1] for _ in range(MOST_PREFETCHES)]
    assert prefetched == ["w2", "w3", "w4", "again"]


def test_a_search_goes_on_after_its_answer(bench: Bench) -> None:
    bench.engine.searches = True
    bench.infill(1, "a")
    bench.engine.finish.release()
    assert bench.next_answer() == (1, "a!")
    assert [bench.next_call() for _ in range(2)] == [("answer", "a"), ("search", "a")]


@pytest.mark.parametrize("other", ["infill", "prefetch", "infill of another document"])
def test_a_search_that_goes_on_ends_for_anything_else(bench: Bench, other: str) -> None:
    bench.engine.searches = True
    bench.infill(1, "a")
    bench.engine.finish.release()
    assert [bench.next_call() for _ in range(2)] == [("answer", "a"), ("search", "a")]
    if other == "prefetch":
        bench.prefetch("ab")
    else:
        bench.infill(2, "ab", "d" if other == "infill" else "e")
    assert bench.next_call()[1] == "ab"
    assert bench.engine.done == ["a", "a cancelled"]


def test_a_search_does_not_go_on_at_a_place_that_has_changed(bench: Bench) -> None:
    bench.engine.searches = True
    bench.infill(1, "a")
    assert bench.next_call() == ("answer", "a")
    bench.prefetch("ab")
    bench.engine.finish.release(2)
    assert bench.next_call() == ("prefetch", "ab")
    bench.index_project("x")
    assert bench.next_call() == ("count", "x")
    bench.engine.finish.release()


def test_what_was_not_read_is_read_before_any_search_goes_on(bench: Bench) -> None:
    bench.engine.searches = True
    bench.infill(1, "incomplete")
    bench.engine.finish.release(2)
    assert [bench.next_call() for _ in range(2)] == [("answer", "incomplete"), ("prefetch", "incomplete")]
    bench.index_project("x")
    assert bench.next_call() == ("count", "x")
    bench.engine.finish.release()


def test_searches_go_on_for_a_share_of_the_time_only(bench: Bench) -> None:
    bench.engine.searches = True
    bench.infill(1, "a")
    assert bench.next_call() == ("answer", "a")
    bench.engine.finish.release()
    assert bench.next_call() == ("search", "a")
    bench.seconds += 4.0  # a search that ends late: more than a quarter of ten seconds
    bench.engine.finish.release()
    bench.infill(2, "b", expires_at=FAR)
    bench.engine.finish.release()
    assert bench.next_call() == ("answer", "b")
    bench.index_project("x")
    assert bench.next_call() == ("count", "x")
    bench.engine.finish.release()
    bench.seconds += 60.0
    assert bench.next_call() == ("search", "b")
