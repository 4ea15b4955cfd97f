"""Chooses the fastest precision and number of threads for the small model on this CPU, measured at load time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from infill_engine.models.quantization.int8_kernels import KERNELS, Kernel, is_exact
from infill_engine.models.quantization.int8_linear import Int8Linear, use_int8
from infill_engine.models.runtime.devices import wanted_threads
from infill_engine.models.runtime.timing import quickest
from infill_engine.models.small.network.config import DualEncoderConfig
from infill_engine.models.small.network.layers import EncoderLayer, Rotary

TOKENS = 64  # per run of the layer: a canvas of usual size


@dataclass(frozen=True, slots=True)
class Profile:
    """A number of threads, and the int8 kernel, if any."""

    threads: int
    kernel: type[Kernel] | None


def autotune(dtype: torch.dtype, kernels: Sequence[type[Kernel] | None] = (None, *KERNELS)) -> type[Kernel] | None:
    """Set torch's number of threads (one or all) and return the kernel, whichever is fastest; None means `dtype`.

    `kernels` are the candidates. A whole layer is timed, not a single product, because the cost of waking threads is
    paid for every operation. INFILL_THREADS overrides the number.
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


def _layer(dtype: torch.dtype, kernel: type[Kernel] | None) -> EncoderLayer:
    """Return a layer of the small model's size with arbitrary weights."""
    layer = EncoderLayer(DualEncoderConfig()).requires_grad_(requires_grad=False)
    if kernel is not None:
        use_int8(layer, dtype, kernel)
        for module in layer.modules():
            if isinstance(module, Int8Linear):
                module.weight.fill_(1)
                module.scale.fill_(1)
    return layer.to(dtype)


def _run_at(profile: Profile, layer: EncoderLayer, dtype: torch.dtype) -> Callable[[], Tensor]:
    config = DualEncoderConfig()
    x = torch.ones(1, TOKENS, config.dim, dtype=dtype)
    tables = Rotary(config.head_dim)(torch.arange(TOKENS))

    @torch.inference_mode()
    def run() -> Tensor:
        torch.set_num_threads(profile.threads)
        states: Tensor = layer(x, tables)[0]
        return states

    return run
