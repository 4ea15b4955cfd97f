"""The loop that runs jobs: what it allows, what it learns, what a refused job can still do."""

import pytest

from infill_engine.budget.deadline import Deadline, FinishMargin
from infill_engine.budget.work import (
    AskLimit,
    Budget,
    Choice,
    Costs,
    Job,
    OutOfTime,
    PassState,
    Phase,
    Work,
    finished,
    leaving,
)

MODEL = object()


class Clock:
    """A clock that jobs move by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def pieces(clock: Clock, *took_ms: float) -> Job[int]:
    """A job whose pieces take so long; it returns how many were done."""
    for number, took in enumerate(took_ms):
        try:
            yield Work(Phase.PASS, 8)
        except OutOfTime:
            return number
        clock.now += took / 1000
        yield PassState(MODEL, number)
    return len(took_ms)


def budget(clock: Clock, ms: float, known_ms: float | None = None) -> Budget:
    costs = Costs()
    if known_ms is not None:
        costs.observe(Phase.PASS, 8, known_ms)
    return Budget(Deadline.after_ms(ms, clock=clock), costs, FinishMargin(10.0))


@pytest.mark.parametrize(
    ("budget_ms", "known_ms", "expected"),
    [(1000, 20, 3), (75, 20, 3), (65, 20, 2), (29, 20, 0), (31, 20, 1), (0, 20, 0)],
)
def test_a_piece_starts_only_if_it_ends_in_time(budget_ms: float, known_ms: float, expected: int) -> None:
    clock = Clock()
    mine = budget(clock, budget_ms, known_ms)
    assert mine.run(pieces(clock, 20, 20, 20)) == expected
    assert mine.refused is (expected < 3)
    assert clock.now * 1000 <= max(0, budget_ms - 10)


def test_what_pieces_take_is_learned_and_the_first_counts_half() -> None:
    clock = Clock()
    mine = budget(clock, 1000)
    mine.run(pieces(clock, 100))
    assert mine.costs.predict_ms(Phase.PASS, 8) == pytest.approx(50)
    mine.run(pieces(clock, 40))
    assert mine.costs.predict_ms(Phase.PASS, 8) < 50


def test_work_that_is_always_refused_is_tried_again_some_day() -> None:
    clock = Clock()
    mine = budget(clock, 60, known_ms=100)
    refused = 0
    while not Budget(Deadline.after_ms(60, clock=clock), mine.costs, FinishMargin(10.0)).run(pieces(clock, 20)):
        refused += 1
    assert 10 < refused < 100


def test_running_out_of_time_after_some_pieces_changes_no_cost() -> None:
    clock = Clock()
    mine = budget(clock, 55, known_ms=20)
    assert mine.run(pieces(clock, 20, 20, 20)) == 2
    assert mine.costs.predict_ms(Phase.PASS, 8) == pytest.approx(20)


def test_somebody_who_watches_sees_every_pass() -> None:
    clock = Clock()
    seen: list[PassState] = []
    budget(clock, 1000, 1).run(pieces(clock, 1, 1), seen.append)
    assert seen == [PassState(MODEL, 0), PassState(MODEL, 1)]


def test_a_cancelled_request_starts_nothing() -> None:
    clock = Clock()
    mine = Budget(Deadline(1e9, clock, lambda: True), Costs(), FinishMargin(0.0))
    assert mine.run(pieces(clock, 1)) == 0


def test_part_of_a_job_can_leave_time() -> None:
    clock = Clock()
    assert budget(clock, 100, known_ms=20).run(leaving(pieces(clock, 20, 20, 20, 20, 20), 30.0)) == 3


@pytest.mark.parametrize(("ms", "chosen"), [(1000, 0), (60, 1), (29, None), (0, None)])
def test_a_job_receives_the_first_piece_that_fits(ms: float, chosen: int | None) -> None:
    def job() -> Job[int | None]:
        return (yield Choice(Work(Phase.PASS, 8, then_ms) for then_ms in (100.0, 0.0)))

    mine = budget(Clock(), ms, known_ms=20)
    assert mine.run(job()) == chosen
    assert mine.refused is (chosen != 0)
    assert budget(Clock(), ms, known_ms=20).run(leaving(job(), 0.0)) == chosen


def test_a_piece_may_be_due_before_the_deadline() -> None:
    clock = Clock()

    def job() -> Job[bool]:
        limit = yield AskLimit()
        assert limit.finish_ms == 10.0
        work = Work(Phase.PASS, 8, due=limit.deadline.sooner(0.1))
        return (yield Choice([work])) is None

    assert budget(clock, 100, known_ms=20).run(job())
    assert not budget(clock, 1000, known_ms=20).run(job())


def test_what_a_piece_takes_ends_with_the_next_question() -> None:
    clock = Clock()
    mine = budget(clock, 1000, known_ms=20)

    def job() -> Job[None]:
        yield Work(Phase.PASS, 8)
        clock.now += 0.02
        yield Choice([])
        clock.now += 0.5

    mine.run(job())
    assert mine.costs.predict_ms(Phase.PASS, 8) == pytest.approx(20)


def test_without_a_budget_a_job_is_finished() -> None:
    assert finished(pieces(Clock(), 1e9, 1e9)) == 2
