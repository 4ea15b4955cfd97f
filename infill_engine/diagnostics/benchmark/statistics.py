"""Order statistics, and comparisons with an interval and a probability. Random draws use a fixed seed.

An interval is a 95 % interval, by resampling. A probability `p` is that of a difference at least as large without any
cause, by permuting what was measured. With pairs, whole pairs are resampled and signs are flipped.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 4000
MOST_POINTS = 400  # of a series whose slope is estimated; more are thinned out
SIGNIFICANT = 0.05
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % interval, and the probability of a value so far from zero by chance."""

    value: float
    low: float
    high: float
    p: float = 1.0

    @property
    def is_significant(self) -> bool:
        """Whether chance alone is an unlikely explanation."""
        return self.p < SIGNIFICANT


NOTHING = Estimate(0.0, 0.0, 0.0)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which `share` (0 to 1) of `values` lie, linearly interpolated; 0 without values."""
    if not values:
        return 0.0
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def median(values: Sequence[float]) -> float:
    """Return the median; 0 without values."""
    return percentile(values, 0.5)


def mean(values: Sequence[float]) -> float:
    """Return the mean; 0 without values."""
    return sum(values) / len(values) if values else 0.0


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return count, p50, p95, p99 and maximum, rounded to two decimals."""
    shares = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0))
    return {"n": len(values), **{name: round(percentile(values, share), 2) for name, share in shares}}


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


def difference(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Return the mean of `second` minus that of `first`, which are two independent samples."""
    if not first or not second:
        return NOTHING
    one, other = (np.asarray(values, dtype=np.float64) for values in (first, second))
    rng = _rng()
    drawn = other[rng.integers(0, len(other), (RESAMPLES, len(other)))].mean(1)
    drawn = drawn - one[rng.integers(0, len(one), (RESAMPLES, len(one)))].mean(1)
    value = float(other.mean() - one.mean())
    shuffled = rng.permuted(np.tile(np.concatenate([one, other]), (RESAMPLES, 1)), axis=1)
    by_chance = shuffled[:, len(one) :].mean(1) - shuffled[:, : len(one)].mean(1)
    return Estimate(value, *_bounds(drawn), _chance(by_chance, value))


def slope(values: Sequence[float]) -> Estimate:
    """The change per place of a series: the median slope of all pairs (Theil 1950, Sen 1968), robust to outliers."""
    numbers = np.asarray(values, dtype=np.float64)
    step = -(-len(numbers) // MOST_POINTS)
    places = np.arange(0, len(numbers), max(1, step))
    numbers = numbers[places]
    if len(numbers) < 3:
        return NOTHING
    rng = _rng()
    value = _median_slope(places, numbers)
    draws = RESAMPLES // 10  # each costs as many pairs as the series has
    drawn = [
        _median_slope(places[chosen], numbers[chosen])
        for chosen in (np.sort(rng.integers(0, len(numbers), len(numbers))) for _ in range(draws))
    ]
    shuffled = np.asarray([_median_slope(places, rng.permutation(numbers)) for _ in range(draws)])
    return Estimate(value, *_bounds(np.asarray(drawn)), _chance(shuffled, value))


def _median_slope(places: NDArray[np.int64], numbers: Floats) -> float:
    left, right = np.triu_indices(len(numbers), 1)
    run = places[right] - places[left]
    apart = run > 0
    rise = numbers[right] - numbers[left]
    return float(np.median(rise[apart] / run[apart])) if apart.any() else 0.0


def _bounds(drawn: Floats) -> tuple[float, float]:
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(low), float(high)


def _chance(by_chance: Floats, value: float) -> float:
    """Return the share of permutations at least as extreme; the observed order counts as one of them."""
    extreme = int((np.abs(by_chance) >= abs(value) - 1e-12).sum())
    return (extreme + 1) / (len(by_chance) + 1)


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)
