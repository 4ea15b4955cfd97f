import pytest

from infill_engine.budget.deadline import CostModel, Deadline, FinishMargin
from infill_engine.budget.work import Budget, Costs, Job, Phase, Work


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("cost_ms", "cancelled", "expected"), [(49, False, True), (50, False, True), (51, False, False), (1, True, False)]
)
def test_what_a_deadline_allows(cost_ms: float, cancelled: bool, expected: bool) -> None:
    clock = Clock()
    assert Deadline(clock.now + 0.0500001, clock, lambda: cancelled).allows(cost_ms) is expected


def test_a_deadline_passes() -> None:
    clock = Clock()
    deadline = Deadline.after_ms(50, clock=clock)
    clock.now += 0.06
    assert deadline.remaining_ms() == pytest.approx(-10)


def costs(*observed: tuple[int, float]) -> CostModel:
    model = CostModel()
    for slots, took_ms in observed:
        model.observe(slots, took_ms)
    return model


CASES = [
    ("nothing known", (), 32, 20, 20),
    ("the same again", ((32, 8.0),) * 20, 32, 8, 8.1),
    ("between two sizes", ((16, 6.0),) * 20 + ((64, 12.0),) * 20, 40, 10.4, 10.6),
    ("beyond the largest, half of it grows", ((32, 8.0),) * 20, 64, 12, 12.2),
    ("one that was slow for being the first", ((64, 90.0),) + ((72, 12.0),) * 20, 64, 11.9, 12.1),
    ("and before a larger one was met", ((32, 8.0), (64, 90.0)) + ((32, 8.0),) * 20, 64, 12, 12.1),
    ("below the smallest, not cheaper", ((32, 8.0),) * 20, 8, 8, 8.1),
    ("one interrupted step does not frighten", ((32, 8.0),) * 20 + ((32, 400.0),), 32, 8, 15),
    ("a machine that stays busy is believed", ((32, 8.0),) * 20 + ((32, 24.0),) * 20, 32, 22, 25),
    ("however busy", ((32, 8.0),) * 20 + ((32, 90.0),) * 40, 32, 80, 91),
    ("and forgiven", ((32, 8.0),) * 20 + ((32, 24.0),) * 20 + ((32, 8.0),) * 20, 32, 8, 8.5),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_predicted_costs(case: tuple[str, tuple[tuple[int, float], ...], int, float, float]) -> None:
    _, observed, slots, least, most = case
    assert least <= costs(*observed).predict_ms(slots) <= most


def reserve(*observed: float) -> float:
    kept = FinishMargin(10.0)
    for took_ms in observed:
        kept.observe(took_ms)
    return kept.predict_ms()


def test_the_reserve_grows_with_a_slow_end_and_is_slowly_given_back() -> None:
    assert reserve() == reserve(1.0) == 10
    assert reserve(20.0) == 30
    assert 10 < reserve(20.0, *[1.0] * 5) < 30
    assert reserve(20.0, *[1.0] * 60) == 10
    assert reserve(4000.0) == reserve(40.0), "one interruption takes no more than this"


def test_what_was_thought_too_dear_is_tried_again() -> None:
    costs = CostModel()
    costs.observe(4, 20.0)
    declined = 0
    while costs.predict_ms(4) > 15.0:
        costs.decay()
        declined += 1
    assert 5 < declined < 50
    costs.observe(4, 5.0)  # it was an accident
    assert costs.predict_ms(4) < 5.0
    for _ in range(1000):
        costs.decay()
    assert costs.predict_ms(4) > 1.0


def test_a_part_has_taken_what_it_takes_until_it_is_done() -> None:
    clock, costs = Clock(), Costs()

    def finish() -> None:
        clock.now += 0.05

    def job() -> Job[None]:
        yield Work(Phase.READ, 32)

    Budget(Deadline.after_ms(1000, clock=clock), costs, FinishMargin(0.0), finish).run(job())
    assert costs.predict_ms(Phase.READ, 32) == pytest.approx(25)  # of the first piece half counts
