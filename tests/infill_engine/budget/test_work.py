"""The loop that runs jobs: what it allows, what it learns, what a refused job can still do."""

import pytest

from infill_engine.budget.deadline import Deadline, FinishMargin
from infill_engine.budget.work import Budget, Costs, Job, OutOfTime, PassState, Phase, Work, finished, within

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
    assert budget(clock, budget_ms, known_ms).run(pieces(clock, 20, 20, 20)) == expected
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


def test_part_of_a_job_can_be_due_earlier_and_leave_time() -> None:
    clock = Clock()
    mine = budget(clock, 1000, known_ms=20)
    soon = Deadline.after_ms(100, clock=clock)
    assert mine.run(within(pieces(clock, 20, 20, 20, 20, 20), soon, 30.0)) == 3


def test_without_a_budget_a_job_is_finished() -> None:
    assert finished(pieces(Clock(), 1e9, 1e9)) == 2
