"""In which precision, and with how many threads, the default is the fastest on this CPU: measured when it loads."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from infill_engine.models.quantization.int8_kernels import KERNELS, Kernel, is_exact
from infill_engine.models.quantization.int8_linear import Int8Linear, use_int8
from infill_engine.models.runtime.devices import wanted_threads
from infill_engine.models.runtime.timing import quickest
from infill_engine.models.small.config import DuostreamConfig
from infill_engine.models.small.layers import EncoderLayer, Rotary

TOKENS = 64  # that go through the layer at once: a canvas of usual size


@dataclass(frozen=True, slots=True)
class Profile:
    """A number of threads, and what multiplies matrices in int8, if they are."""

    threads: int
    kernel: type[Kernel] | None


def settle(dtype: torch.dtype, kernels: Sequence[type[Kernel] | None] = (None, *KERNELS)) -> type[Kernel] | None:
    """Has torch use as many threads as are fastest here, all or one; which kernel that is with (None: in `dtype`).

    `kernels` are what may be chosen from. A whole layer is run, not a product alone: what it costs to wake threads is
    paid for every operation. INFILL_THREADS overrides.
    """
    allowed = [kernel for kernel in kernels if kernel is None or is_exact(kernel)] or [None]
    most = torch.get_num_threads()
    profiles = [
        Profile(threads, kernel) for threads in ({most} if wanted_threads() else {1, most}) for kernel in allowed
    ]
    profile = profiles[0]
    if len(profiles) > 1:
        layers = {kernel: _layer(dtype, kernel) for kernel in allowed}
        profile = quickest({profile: _run_at(profile, layers[profile.kernel], dtype) for profile in profiles})
    torch.set_num_threads(profile.threads)
    return profile.kernel


def profile_of(precision: str) -> str:
    """In words, with the threads that torch uses now."""
    threads = torch.get_num_threads()
    return f"{precision}, {threads} thread" + "s" * (threads > 1)


def _layer(dtype: torch.dtype, kernel: type[Kernel] | None) -> EncoderLayer:
    """One of the default's, with weights that mean nothing."""
    layer = EncoderLayer(DuostreamConfig()).requires_grad_(requires_grad=False)
    if kernel is not None:
        use_int8(layer, dtype, kernel)
        for module in layer.modules():
            if isinstance(module, Int8Linear):
                module.weight.fill_(1)
                module.scale.fill_(1)
    return layer.to(dtype)


def _run_at(profile: Profile, layer: EncoderLayer, dtype: torch.dtype) -> Callable[[], Tensor]:
    config = DuostreamConfig()
    x = torch.ones(1, TOKENS, config.dim, dtype=dtype)
    tables = Rotary(config.head_dim)(torch.arange(TOKENS))

    @torch.inference_mode()
    def run() -> Tensor:
        torch.set_num_threads(profile.threads)
        states: Tensor = layer(x, tables)[0]
        return states

    return run
