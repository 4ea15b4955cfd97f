"""Which of several ways is the fastest on this machine, measured at the moment."""

import math
from collections.abc import Callable, Hashable, Mapping
from time import perf_counter
from typing import TypeVar

Way = TypeVar("Way", bound=Hashable)
ROUNDS = 8
HOPELESS = (
    4.0  # times as long as the best so far; judged after the second round, the first one may still prepare things
)


def quickest(ways: Mapping[Way, Callable[[], object]]) -> Way:
    """The way whose best of a few rounds is the shortest. They take turns: whatever else the machine does meets all."""
    best = dict.fromkeys(ways, math.inf)
    for done in range(ROUNDS):
        limit = math.inf if done < 2 else HOPELESS * min(best.values())
        for way, run in ways.items():
            if best[way] > limit:
                continue
            started = perf_counter()
            run()
            best[way] = min(best[way], perf_counter() - started)
    return min(best, key=best.__getitem__)
