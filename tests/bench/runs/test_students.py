"""The statistics find what was injected and nothing else, at the noise of a real machine."""

import numpy as np
import pytest

from bench.runs.students import difference, slope

NOISE = 0.015  # of the logarithm of a process's level


@pytest.mark.parametrize(("disturbed", "least"), [(0, 396), (1, 380)])
def test_a_slowdown_of_ten_percent_is_found_and_none_is_invented(disturbed: int, least: int) -> None:
    rng = np.random.default_rng(2)
    found = invented = inside = 0
    for _ in range(400):
        first, second = (rng.normal(0, NOISE, 6) for _ in range(2))
        first[:disturbed] += rng.uniform(0.05, 0.3, disturbed)  # other programs
        found += difference(first.tolist(), (second + np.log(1.1)).tolist()).p < 0.01
        same = difference(first.tolist(), second.tolist())
        invented += same.p < 0.01
        inside += same.low <= 0 <= same.high
    assert found >= least
    assert invented <= 8
    assert inside >= 368  # 92 %


@pytest.mark.parametrize(("t", "p"), [(2.776, 0.05), (4.604, 0.01), (0.0, 1.0)])
def test_probabilities_are_those_of_students_distribution(t: float, p: float) -> None:
    """Six batches leave four degrees of freedom; the error of the slope is 1 here."""
    places = np.arange(6) * 17.5**-0.5
    found = slope((t * places + np.asarray([1, -1, 0, 0, -1, 1])).tolist(), range(6))
    scale = 17.5**0.5  # the places are 1 apart
    assert found.p == pytest.approx(p, rel=2e-3)
    assert scale * (found.high - found.value) == pytest.approx(2.776, rel=1e-3)


def test_a_drift_of_one_percent_in_ten_generations_is_found() -> None:
    rng = np.random.default_rng(3)
    noise = rng.normal(0, 0.05, 120)
    noise[rng.integers(0, 120, 5)] += 1.0  # interruptions
    drifting = slope((noise + np.log(1.01) / 10 * np.arange(120)).tolist())
    assert drifting.p < 0.01
    assert 0 < drifting.low < 0.000995 < drifting.high
    assert slope(noise.tolist()).p > 0.05


def test_levels_of_processes_are_no_drift() -> None:
    rng = np.random.default_rng(4)
    groups = [place // 20 for place in range(100)]
    found = sum(
        slope((rng.normal(0, 0.05, 5)[groups] + rng.normal(0, 0.01, 100)).tolist(), groups).p < 0.05 for _ in range(200)
    )
    assert 2 <= found <= 20  # 5 %


def test_without_enough_values_nothing_is_said() -> None:
    assert slope([1.0, 2.0]).p == 1
    assert difference([1.0], [1.0, 2.0]).p == 1
    assert difference([1.0, 1.0], [2.0, 2.0]).p == 0
