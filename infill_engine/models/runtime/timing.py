"""Which of several alternatives is fastest on this machine, measured now."""

import math
from collections.abc import Callable, Hashable, Mapping
from time import perf_counter
from typing import TypeVar

Way = TypeVar("Way", bound=Hashable)
ROUNDS = 8
PREPARING = 2  # rounds in which an alternative may still do one-time setup
HOPELESS = 4.0  # times the best time so far, above which an alternative is dropped after these rounds


def quickest(ways: Mapping[Way, Callable[[], object]]) -> Way:
    """Return the alternative with the shortest best time. They take turns, so other load on the machine affects all."""
    best = dict.fromkeys(ways, math.inf)
    for done in range(ROUNDS):
        limit = HOPELESS * min(best.values()) if done >= PREPARING else math.inf
        for way in [way for way in ways if best[way] <= limit]:
            started = perf_counter()
            ways[way]()
            best[way] = min(best[way], perf_counter() - started)
    return min(best, key=best.__getitem__)
