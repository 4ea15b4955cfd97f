"""The statistics find what was planted and nothing else, at the noise of a real machine."""

import numpy as np
import pytest

from infill_engine.diagnostics.benchmark.statistics import (
    difference,
    mean_of,
    median,
    paired_difference,
    percentile,
    slope,
)

NOISE = 0.04  # of the logarithm of a measured time


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1.0), (0.5, 2.5), (1.0, 4.0)])
def test_percentiles(share: float, expected: float) -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], share) == expected
    assert percentile([], share) == 0


def test_a_mean_with_its_interval() -> None:
    found = mean_of([1.0] * 30 + [0.0] * 10)
    assert found.value == 0.75
    assert 0.55 < found.low < 0.75 < found.high < 0.9


def test_pairs_find_what_samples_hide() -> None:
    rng = np.random.default_rng(1)
    problems = rng.normal(0, 1, 40)
    first, second = problems.tolist(), (problems + 0.2 + rng.normal(0, 0.1, 40)).tolist()
    assert paired_difference(first, second).p < 0.01
    assert difference(first, second).p > 0.1
    assert paired_difference(first, first).p == 1.0
    with pytest.raises(ValueError, match="zip"):
        paired_difference(first, second[:-1])


def test_a_slowdown_of_ten_percent_is_found_and_none_is_invented() -> None:
    rng = np.random.default_rng(2)
    found = invented = inside = 0
    for _ in range(40):
        first, second = (rng.normal(0, NOISE, 12).tolist() for _ in range(2))
        slower = [value + np.log(1.1) for value in second]
        found += difference(first, slower).p < 0.01
        same = difference(first, second)
        invented += same.p < 0.01
        inside += same.low <= 0 <= same.high
    assert found >= 38
    assert invented <= 2
    assert inside >= 36


def test_a_drift_of_one_percent_in_ten_generations_is_found() -> None:
    rng = np.random.default_rng(3)
    noise = rng.normal(0, 0.06, 100)
    noise[rng.integers(0, 100, 5)] += 1.0  # interruptions
    drifting = slope((noise + np.log(1.01) / 10 * np.arange(100)).tolist())
    assert drifting.p < 0.01
    assert 0 < drifting.low < 0.000995 < drifting.high
    assert slope(noise.tolist()).p > 0.05


def test_without_enough_values_nothing_is_said() -> None:
    assert median([]) == 0
    assert slope([1.0, 2.0]).p == 1
    assert difference([], [1.0]).p == 1
    assert mean_of([]).value == 0
