"""The statistics find what was injected and nothing else, at the noise of a real machine."""

import numpy as np
import pytest

from infill_engine.diagnostics.benchmark.statistics import mean_of, median, paired_difference, percentile


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
    assert paired_difference(first, first).p == 1.0
    with pytest.raises(ValueError, match="zip"):
        paired_difference(first, second[:-1])


def test_without_enough_values_nothing_is_said() -> None:
    assert median([]) == 0
    assert mean_of([]).value == 0
