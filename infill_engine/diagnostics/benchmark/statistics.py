"""Order statistics, and comparisons with an interval and a probability. Random draws use a fixed seed.

An interval is a 95 % interval, and a probability `p` is that of a difference at least as large without any cause. With
pairs of problems or keystrokes, whole pairs are resampled and signs are flipped. The few levels of processes and
batches are taken to be normally distributed: resampling so few gives intervals that are too narrow.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 4000
TRIMMED = 0.2  # share of the processes on either side
BATCHES = 20  # of a series whose slope is estimated
ANGLES = 20_000  # steps of the integral of Student's distribution
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
    """Return the mean of `second` minus that of `first`: levels of processes, a few of which are far from the others.

    So the lowest and the highest TRIMMED of each do not count; for the error, they count as their neighbours (Yuen
    1974, with one variance for both). Returns NOTHING if there are fewer than two of either.
    """
    if min(len(first), len(second)) < 2:
        return NOTHING
    means, error, freedom = [], 0.0, 0
    for levels in (first, second):
        ordered, out = np.sort(np.asarray(levels, dtype=np.float64)), int(TRIMMED * len(levels))
        kept = ordered[out : len(levels) - out]
        spread = float(np.clip(ordered, kept[0], kept[-1]).var(ddof=1))
        means.append(float(kept.mean()))
        error += (len(levels) - 1) * spread / (len(kept) * (len(kept) - 1))
        freedom += len(kept) - 1
    return _by_student(means[1] - means[0], error**0.5, freedom)


def slope(values: Sequence[float], groups: Sequence[Hashable] = ()) -> Estimate:
    """Return the change per place of a series: the line through the medians of its batches.

    Neighbours resemble each other, and medians of batches much less. `groups` names the batch of each value; without
    it, there are BATCHES of equal size. Returns NOTHING for fewer than three.
    """
    if not groups:
        size = max(1, len(values) // BATCHES)
        groups = [min(place // size, BATCHES - 1) for place in range(len(values))]
    batches: dict[Hashable, list[tuple[int, float]]] = {}
    for place, (group, value) in enumerate(zip(groups, values, strict=True)):
        batches.setdefault(group, []).append((place, value))
    if len(batches) < 3:
        return NOTHING
    places = np.asarray([mean([place for place, _ in batch]) for batch in batches.values()])
    levels = np.asarray([median([value for _, value in batch]) for batch in batches.values()])
    from_middle = places - places.mean()
    width = float(from_middle @ from_middle)
    value = float(from_middle @ levels) / width
    rest = levels - levels.mean() - value * from_middle
    freedom = len(batches) - 2
    return _by_student(value, (float(rest @ rest) / freedom / width) ** 0.5, freedom)


def _by_student(value: float, error: float, freedom: float) -> Estimate:
    """Return an estimate whose error has Student's distribution with so many degrees of freedom.

    With t = sqrt(freedom) * tan(angle), the distribution's density is that of cos(angle) to the power freedom - 1.
    """
    if error <= 1e-12:
        return Estimate(value, value, value, float(abs(value) <= 1e-12))
    angles = np.linspace(0, np.pi / 2, ANGLES)
    beyond = np.cumsum((np.cos(angles) ** (freedom - 1))[::-1])[::-1]
    beyond /= beyond[0]
    p = float(np.interp(np.arctan(abs(value) / error / freedom**0.5), angles, beyond))
    widest = float(np.interp(-SIGNIFICANT, -beyond, angles))
    half = error * freedom**0.5 * float(np.tan(widest))
    return Estimate(value, value - half, value + half, p)


def _bounds(drawn: Floats) -> tuple[float, float]:
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(low), float(high)


def _chance(by_chance: Floats, value: float) -> float:
    """Return the share of permutations at least as extreme; the observed order counts as one of them."""
    extreme = int((np.abs(by_chance) >= abs(value) - 1e-12).sum())
    return (extreme + 1) / (len(by_chance) + 1)


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)
