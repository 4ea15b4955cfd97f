"""What a loaded model costs on this machine: its steps by rows and slots, reading a context cold and after a keystroke.

medians of a few runs, after one that is not counted; on a GPU each run ends when its result is here
"""

import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TypeVar

import numpy as np
import torch

from infill_engine.canvas.canvas import lay_out
from infill_engine.models.base import ModelFamily
from infill_engine.types import HoleKind

T = TypeVar("T")

ROWS = (1, 2, 4)
SLOTS = (8, 16, 32)
CONTEXTS = ((24, 6), (104, 24))  # lines left and right; about 16 tokens each, so 480 and 2,048 in all
LONGEST = (1664, 384)  # tokens left and right of the second; a family may read less
RUNS = 3
LINE = "value_{number} = compute(first, second, {number})\n"


@dataclass(frozen=True, slots=True)
class Cost:
    """A median in milliseconds: of one step over `rows` of `slots`, or of reading `tokens` of a context."""

    what: str
    ms: float
    rows: int = 0
    slots: int = 0
    tokens: int = 0


def measure(family: ModelFamily) -> Iterator[Cost]:
    """Each cost as it is known."""
    for above, below in CONTEXTS:
        yield from _reading(family, above, below)
    for rows in ROWS:
        for slots in SLOTS:
            if slots <= family.spec.max_slots:
                yield _step(family, rows, slots)


def memory_bytes(device: str) -> int:
    """What this process has taken at most: of the device's memory where it has its own, else of the machine's."""
    if device.startswith("cuda"):
        return torch.cuda.max_memory_allocated(device)
    if device.startswith("mps"):
        return torch.mps.driver_allocated_memory()
    if sys.platform == "win32":
        import psutil

        return int(psutil.Process().memory_info().peak_wset)
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _reading(family: ModelFamily, above: int, below: int) -> Iterator[Cost]:
    cold, typed, tokens = [], [], 0
    for run in range(RUNS + 1):
        first = run * 1000
        prefix, suffix = _lines(first, above) + "result = ", "\n" + _lines(first + above, below)
        took, context = _timed(family.device, partial(family.encode, prefix, suffix))
        cold.append(took)
        typed.append(_timed(family.device, partial(family.encode, prefix + "v", suffix))[0])
        tokens = context.tokens
    yield Cost("read cold", statistics.median(cold[1:]), tokens=tokens)
    yield Cost("read after a keystroke", statistics.median(typed[1:]), tokens=tokens)


def _step(family: ModelFamily, rows: int, slots: int) -> Cost:
    prefix = _lines(0, CONTEXTS[0][0]) + "result = "
    canvas = lay_out([slots] * rows, family.spec.mask_id)
    wanted = np.arange(canvas.slots)
    took = []
    for _ in range(RUNS + 1):
        context = family.encode(prefix, "\nprint(result)\n")
        took.append(_timed(family.device, partial(family.denoise, context, HoleKind.LINE, canvas, wanted))[0])
    return Cost("step", statistics.median(took[1:]), rows=rows, slots=slots)


def _lines(first: int, number: int) -> str:
    return "".join(LINE.format(number=line) for line in range(first, first + number))


def _timed(device: str, work: Callable[[], T]) -> tuple[float, T]:
    began = perf_counter()
    result = work()
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    elif device.startswith("mps"):
        torch.mps.synchronize()
    return (perf_counter() - began) * 1000, result
