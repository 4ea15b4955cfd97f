"""A fixed calculation that is timed beside each measurement.

Other programs slow down even the processor time of a pass: they displace its weights from the caches. They slow down
this calculation, too. So the ratio of the two changes far less with the load of a machine than either of them. Only
torch computes it, so changes of infill-ls do not touch it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.nn import functional

from infill_engine.models.runtime.devices import finish

LAYERS, WIDTH, ROWS, SLOTS = 2, 384, 4, 16  # a pass takes a few milliseconds


@dataclass(frozen=True, slots=True)
class Spent:
    """Milliseconds by the clock, and of the processor: of all threads of this process."""

    ms: float
    cpu_ms: float


def spent(device: str, work: Callable[[], object]) -> Spent:
    """Return what a calculation costs until its result is on the device."""
    finish(device)
    began, cpu = time.perf_counter(), time.process_time()
    work()
    finish(device)
    return Spent(1000 * (time.perf_counter() - began), 1000 * (time.process_time() - cpu))


class Reference:
    """Times the calculation between the measurements. Each time, its weights get another place in memory."""

    def __init__(self) -> None:
        _calculation()()  # the first one compiles
        self._last = self._look()

    def since_last(self) -> float:
        """Return the mean processor time, in ms, of the calculation now and when it was timed last."""
        before, self._last = self._last, self._look()
        return (before + self._last) / 2

    @staticmethod
    def _look() -> float:
        return spent("cpu", _calculation()).cpu_ms


def _calculation() -> Callable[[], object]:
    """Return layers like those of a transformer. Their values do not matter."""
    shapes = ((3 * WIDTH, WIDTH), (WIDTH, WIDTH), (4 * WIDTH, WIDTH), (WIDTH, 4 * WIDTH))
    layers = [[torch.full(shape, 0.001) for shape in shapes] for _ in range(LAYERS)]
    start = torch.full((ROWS, SLOTS, WIDTH), 0.1)

    def run() -> object:
        state = start
        for inward, outward, up, down in layers:
            query, key, value = functional.linear(functional.layer_norm(state, (WIDTH,)), inward).chunk(3, -1)
            mixed = torch.softmax(query @ key.transpose(1, 2), -1) @ value
            state = state + functional.linear(mixed, outward)
            wide = functional.gelu(functional.linear(functional.layer_norm(state, (WIDTH,)), up))
            state = state + functional.linear(wide, down)
        return state

    return torch.inference_mode()(run)
