"""How times are spread, as every measurement here reports it."""

from collections.abc import Sequence

from infill_engine.diagnostics.benchmark.statistics import percentile


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return count, p50, p95, p99 and maximum, rounded to two decimals."""
    shares = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0))
    return {"n": len(values), **{name: round(percentile(values, share), 2) for name, share in shares}}
