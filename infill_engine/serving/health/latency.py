"""How long the requests of a shared engine took: percentiles of the last ones, a histogram of all."""

from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field

LAST = 1024  # answers that the percentiles are of
BOUNDS_MS = (1, 2, 5, 10, 20, 50, 100, 150, 200, 300, 500, 1000)  # upper bounds; one more bucket has none


@dataclass
class Latencies:
    """Times in milliseconds."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS_MS) + 1))  # one for each bucket
    sum_ms: float = 0.0
    _last: "deque[float]" = field(default_factory=lambda: deque(maxlen=LAST))

    def add(self, ms: float) -> None:
        """Count a request that took so long."""
        self.counts[bisect_left(BOUNDS_MS, ms)] += 1
        self.sum_ms += ms
        self._last.append(ms)

    def percentiles(self) -> tuple[float, float, float]:
        """Return the 50th, 90th and 99th percentile of the last requests; zeros if there are none."""
        ordered = sorted(self._last)
        return _percentile(ordered, 0.5), _percentile(ordered, 0.9), _percentile(ordered, 0.99)


def _percentile(ordered: list[float], share: float) -> float:
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 2) if ordered else 0.0
