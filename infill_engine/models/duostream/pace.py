"""In which precision, and with how many threads, the default is the fastest on this CPU: measured when it loads."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from infill_engine.models.devices import wanted_threads
from infill_engine.models.duostream.config import DuostreamConfig
from infill_engine.models.duostream.int8 import Int8Linear, is_exact, make_room
from infill_engine.models.duostream.layers import EncoderLayer, Rotary
from infill_engine.models.timing import quickest

TOKENS = 64  # that go through the layer at once: a canvas of usual size


@dataclass(frozen=True, slots=True, order=True)
class Pace:
    """A number of threads, and whether matrices are multiplied in int8."""

    threads: int
    in_int8: bool


def settle(dtype: torch.dtype, kinds: Sequence[bool] = (False, True)) -> bool:
    """Has torch use as many threads as are fastest here, all or one; whether that is in int8 (or in `dtype`).

    `kinds` are what may be chosen from. A whole layer is run, not a product alone: what it costs to wake threads is
    paid for every operation. INFILL_THREADS overrides.
    """
    allowed = [kind for kind in kinds if not kind or is_exact()] or [False]
    most = torch.get_num_threads()
    paces = [Pace(threads, kind) for threads in ({most} if wanted_threads() else {1, most}) for kind in allowed]
    pace = paces[0]
    if len(paces) > 1:
        layers = {kind: _layer(dtype, in_int8=kind) for kind in allowed}
        pace = quickest({pace: _run_at(pace, layers[pace.in_int8], dtype) for pace in paces})
    torch.set_num_threads(pace.threads)
    return pace.in_int8


def pace_of(precision: str) -> str:
    """In words, with the threads that torch uses now."""
    threads = torch.get_num_threads()
    return f"{precision}, {threads} thread" + "s" * (threads > 1)


def _layer(dtype: torch.dtype, *, in_int8: bool) -> EncoderLayer:
    """One of the default's, with weights that mean nothing."""
    layer = EncoderLayer(DuostreamConfig()).requires_grad_(requires_grad=False)
    if in_int8:
        make_room(layer, dtype)
        for module in layer.modules():
            if isinstance(module, Int8Linear):
                module.weight.fill_(1)
                module.scale.fill_(1)
    return layer.to(dtype)


def _run_at(pace: Pace, layer: EncoderLayer, dtype: torch.dtype) -> Callable[[], Tensor]:
    config = DuostreamConfig()
    x = torch.ones(1, TOKENS, config.dim, dtype=dtype)
    tables = Rotary(config.head_dim)(torch.arange(TOKENS))

    @torch.inference_mode()
    def run() -> Tensor:
        torch.set_num_threads(pace.threads)
        states: Tensor = layer(x, tables)[0]
        return states

    return run
