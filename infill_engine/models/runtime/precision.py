"""The floating-point types that models compute in with torch."""

import math
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from time import perf_counter
from typing import TypeVar

import torch

from infill_engine.settings import ModelSettings


def dtype_of(settings: ModelSettings, device: str) -> torch.dtype:
    """Return the precision of the computation. Raises InputError for an unknown one."""
    name = settings.float_type()
    dtype: torch.dtype = getattr(torch, name) if name else fastest_dtype(device)
    return dtype


def fastest_dtype(device: str, rows: int = 96) -> torch.dtype:
    """Half precision on GPUs; on a CPU the faster of bfloat16 and float32, measured now.

    Half precision means bfloat16, since published models are trained in it and many overflow in float16.

    `rows` is how many tokens are multiplied by a matrix at once, which also affects which type is faster.
    """
    if device != "cpu":
        return torch.bfloat16
    sides = {
        dtype: (torch.ones(rows, 384, dtype=dtype), torch.ones(384, 1024, dtype=dtype))
        for dtype in (torch.float32, torch.bfloat16)
    }
    return quickest({dtype: partial(torch.matmul, *pair) for dtype, pair in sides.items()})


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
