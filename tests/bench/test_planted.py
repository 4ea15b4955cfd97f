"""What was planted takes the time it should, on simulated clocks, and the summary counts what was found."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from bench.planted import Planted, compared, drifting, summary
from infill_engine.diagnostics.benchmark.comparison import CLOCK_TIME, PROCESSOR_TIME
from infill_engine.diagnostics.benchmark.results import Results

NOISE = 0.02
HEADER = {"machine": {"processor": ""}, "problems": ""}


@dataclass
class Clock:
    """Each look takes a thousandth of a millisecond."""

    now: float = 0.0

    def __call__(self) -> float:
        self.now += 1e-6
        return self.now


def passes(planted: Planted, clock: Clock, seed: int) -> Results:
    results, rng = Results(Path(), HEADER), np.random.default_rng(seed)
    work = planted.prolonged(lambda: _go_on(clock, 0.02 * float(np.exp(rng.normal(0, NOISE)))))
    for process in range(6):
        results.begin(f"process {process}")
        for _ in range(10):
            ms = _took(clock, work)
            results.add("pass", model="small", rows=64, ms=ms, cpu_ms=ms, reference_ms=8.0)
    return results


def generations(planted: Planted, clock: Clock, count: int) -> Results:
    results, rng = Results(Path(), HEADER), np.random.default_rng(1)
    work = planted.prolonged(lambda: _go_on(clock, 0.02 * float(np.exp(rng.normal(0, NOISE)))))
    answer = planted.counted(lambda: _took(clock, work))
    for number in range(count):
        about = {"number": number, "process": 1, "problem": f"p{number % 10}", "resident_mb": 100.0}
        ms = answer()
        results.add("generation", **about, ms=ms, pass_ms=ms, cpu_ms=ms, reference_ms=8.0, passes=1)
    return results


@pytest.mark.parametrize(("slower", "growth", "answers", "expected"), [(0.1, 0.0, 5, 22), (0.1, 0.01, 10, 24)])
def test_a_pass_takes_longer_by_its_share(slower: float, growth: float, answers: int, expected: float) -> None:
    clock = Clock()
    planted = Planted(slower, growth, clock)
    answer = planted.counted(planted.prolonged(lambda: _go_on(clock, 0.02)))
    took = [_took(clock, answer) for _ in range(answers)]
    assert took[-1] == pytest.approx(expected, rel=1e-3)


def test_what_was_planted_is_found_and_nothing_else() -> None:
    clock = Clock()
    rows = []
    for seed in range(10):
        first, second = (passes(Planted(0.0, 0.0, clock), clock, 2 * seed + each) for each in (0, 1))
        slowed = passes(Planted(0.1, 0.0, clock), clock, 100 + seed)
        rows.append({"what": "one build", **compared(first, second)})
        rows.append({"what": "slowed passes", **compared(first, slowed)})
    for what, growth in (("no drift", 0.0), ("planted drift", 0.001)):
        results = generations(Planted(0.0, growth, clock), clock, 100)
        rows.append({"what": what, **drifting(results, recycled=False)})
    found = summary(rows)
    for measure in (PROCESSOR_TIME, CLOCK_TIME):
        assert found[f"one build within its interval, {measure}"] >= 9
        assert found[f"slowed, {measure}: found"] == 10
    assert (found["no drift: drift found"], found["planted drift: drift found"]) == (0, 1)


def _go_on(clock: Clock, seconds: float) -> None:
    clock.now += seconds


def _took(clock: Clock, work: object) -> float:
    assert callable(work)
    began = clock()
    work()
    return 1000 * (clock() - began)
