"""Order statistics of measured times."""

from collections.abc import Sequence


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which `share` (0 to 1) of `values` lie, linearly interpolated; 0 without values."""
    if not values:
        return 0.0
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return count, p50, p95, p99 and maximum, rounded to two decimals."""
    shares = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0))
    return {"n": len(values), **{name: round(percentile(values, share), 2) for name, share in shares}}
