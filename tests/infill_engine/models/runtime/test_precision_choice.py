"""Of several ways the fastest is found, and the hopeless are not tried to the end."""

from collections.abc import Callable

import pytest

from infill_engine.models.runtime import precision
from infill_engine.models.runtime.precision import HOPELESS, ROUNDS, quickest


class Clock:
    """Time that passes only where somebody works."""

    def __init__(self) -> None:
        self.now = 0.0
        self.runs: dict[str, int] = {}

    def __call__(self) -> float:
        return self.now

    def work(self, name: str, *lasts: float) -> Callable[[], None]:
        """Takes so long each time, from the last one on always as long as that."""

        def run() -> None:
            done = self.runs.get(name, 0)
            self.runs[name] = done + 1
            self.now += lasts[min(done, len(lasts) - 1)]

        return run


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(precision, "perf_counter", made)
    return made


def test_the_best_round_counts(clock: Clock) -> None:
    assert quickest({"steady": clock.work("steady", 2.0), "once": clock.work("once", 3, 3, 3, 1, 3)}) == "once"
    assert clock.runs == {"steady": ROUNDS, "once": ROUNDS}


def test_what_is_hopeless_is_tried_twice(clock: Clock) -> None:
    assert quickest({"hopeless": clock.work("hopeless", HOPELESS + 1), "fast": clock.work("fast", 1.0)}) == "fast"
    assert clock.runs == {"hopeless": 2, "fast": ROUNDS}


def test_what_prepares_itself_first_is_not_hopeless(clock: Clock) -> None:
    assert quickest({"fast": clock.work("fast", 1.0), "later": clock.work("later", 100.0, 0.5)}) == "later"
