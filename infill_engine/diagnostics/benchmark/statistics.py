"""Order statistics, and means and differences with 95 % intervals. Random draws use a fixed seed.

Whole problems or keystrokes are resampled. A probability `p` is that of a difference at least as large by chance: the
signs of the pairs are flipped.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 4000
SIGNIFICANT = 0.05
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % interval, and the probability of a value so far from zero by chance."""

    value: float
    low: float
    high: float
    p: float = 1.0


NOTHING = Estimate(0.0, 0.0, 0.0)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which `share` (0 to 1) of `values` lie, linearly interpolated; 0 without values."""
    return float(np.quantile(values, share)) if len(values) else 0.0


def median(values: Sequence[float]) -> float:
    """Return the median; 0 without values."""
    return percentile(values, 0.5)


def mean(values: Sequence[float]) -> float:
    """Return the mean; 0 without values."""
    return sum(values) / len(values) if values else 0.0


def mean_of(values: Sequence[float]) -> Estimate:
    """Return the mean of independent values, such as a share of problems."""
    if not values:
        return NOTHING
    numbers = np.asarray(values, dtype=np.float64)
    drawn = numbers[_rng().integers(0, len(numbers), (RESAMPLES, len(numbers)))].mean(1)
    return Estimate(float(numbers.mean()), *_bounds(drawn))


def paired_difference(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Return the mean of `second` minus `first`, which are pairs. Raises ValueError if their lengths differ."""
    differences = np.asarray([b - a for a, b in zip(first, second, strict=True)], dtype=np.float64)
    if not len(differences):
        return NOTHING
    rng = _rng()
    drawn = differences[rng.integers(0, len(differences), (RESAMPLES, len(differences)))].mean(1)
    flipped = (differences * rng.choice((-1.0, 1.0), (RESAMPLES, len(differences)))).mean(1)
    value = float(differences.mean())
    return Estimate(value, *_bounds(drawn), _chance(flipped, value))


def _bounds(drawn: Floats) -> tuple[float, float]:
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(low), float(high)


def _chance(by_chance: Floats, value: float) -> float:
    """Return the share of permutations at least as extreme; the observed order counts as one of them."""
    extreme = int((np.abs(by_chance) >= abs(value) - 1e-12).sum())
    return (extreme + 1) / (len(by_chance) + 1)


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)
