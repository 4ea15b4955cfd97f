"""Which of several ways is the fastest on this machine, measured at the moment."""

import math
from collections.abc import Callable, Hashable, Mapping
from time import perf_counter
from typing import TypeVar

Way = TypeVar("Way", bound=Hashable)
ROUNDS = 8
PREPARING = 2  # rounds in which a way may still prepare things
HOPELESS = 4.0  # times as long as the best so far: after these rounds such a way is out


def quickest(ways: Mapping[Way, Callable[[], object]]) -> Way:
    """The way whose best of a few rounds is the shortest. They take turns: whatever else the machine does meets all."""
    best = dict.fromkeys(ways, math.inf)
    for done in range(ROUNDS):
        limit = HOPELESS * min(best.values()) if done >= PREPARING else math.inf
        for way in [way for way in ways if best[way] <= limit]:
            started = perf_counter()
            ways[way]()
            best[way] = min(best[way], perf_counter() - started)
    return min(best, key=best.__getitem__)
