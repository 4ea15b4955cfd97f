"""A probe: what a small fixed pass of the model costs now.

Processor time is what counts. On a busy machine a pass takes longer by the clock but no more processor time.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from infill_engine.budget.deadline import Clock, now

LEAST_PASSES, MOST_PASSES = 2, 5  # of one probe; the first brings the weights into the caches
PROBE_SECONDS = 0.1  # no further pass begins after that


@dataclass(frozen=True, slots=True)
class Probe:
    """The fastest pass, by each clock, and the process's memory after it."""

    cpu_ms: float
    wall_ms: float
    memory_bytes: int


def measure(
    one_pass: Callable[[], None],
    stopped: Callable[[], bool],
    clock: Clock = now,
    cpu_clock: Clock = time.process_time,
    memory: Callable[[], int] = lambda: int(psutil.Process().memory_info().rss),
) -> Probe | None:
    """Run the pass a few times; None if the probe was stopped too early to say anything."""
    cpu_ms: list[float] = []
    wall_ms: list[float] = []
    began = clock()
    while len(cpu_ms) < LEAST_PASSES or (len(cpu_ms) < MOST_PASSES and clock() - began < PROBE_SECONDS):
        if stopped():
            return None
        cpu, wall = cpu_clock(), clock()
        one_pass()
        cpu_ms.append(1000 * (cpu_clock() - cpu))
        wall_ms.append(1000 * (clock() - wall))
    return Probe(min(cpu_ms), min(wall_ms), memory())
