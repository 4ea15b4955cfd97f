"""Differences between levels of processes, and slopes of series, with 95 % intervals.

The few levels of processes and batches are taken to be normally distributed: resampling so few gives intervals that are
too narrow.
"""

from collections.abc import Hashable, Sequence

import numpy as np

from infill_engine.diagnostics.benchmark.statistics import NOTHING, SIGNIFICANT, Estimate, mean, median

TRIMMED = 0.2  # share of the processes on either side
BATCHES = 20  # of a series whose slope is estimated
ANGLES = 20_000  # steps of the integral of Student's distribution


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
