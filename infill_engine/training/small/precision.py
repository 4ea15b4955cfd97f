"""In which number type losses are computed. Weights and optimisers are float32 throughout."""

from collections.abc import Callable

import torch

from infill_engine.models.loading import fastest_dtype
from infill_engine.models.quantization.int8_kernels import PROBED, OneDnn, is_exact
from infill_engine.models.runtime.timing import quickest

Precision = Callable[[], torch.autocast]

ROWS = 2048  # tokens that go through a matrix at once, or more


def dtype_of(place: torch.device) -> torch.dtype:
    """bfloat16 where it is the faster type, else float32; float16 would need its gradients scaled.

    Not every processor that knows bfloat16 is faster with it: some multiply matrices in float32 at twice the rate.
    """
    return torch.bfloat16 if fastest_dtype(place.type, ROWS) is torch.bfloat16 else torch.float32


def precision_of(place: torch.device) -> Precision:
    """What losses are to be computed in, decided once."""
    enabled = dtype_of(place) is torch.bfloat16
    return lambda: torch.autocast(place.type, torch.bfloat16, enabled=enabled)


def rounding_pays(place: torch.device) -> bool:
    """Whether products in eight bits are so much faster here that rounding their factors is worth its time.

    That takes about as long as such a product, if it is compiled together with what comes before and after; by itself
    several times as long.
    """
    if place.type != "cpu" or not is_exact(OneDnn):
        return False
    dtype = dtype_of(place)
    x, matrix = torch.ones(ROWS, PROBED[1], dtype=dtype), torch.ones(PROBED, dtype=dtype)
    levels, whole = x.to(torch.int8), matrix.to(torch.int8)
    return quickest(
        {
            False: lambda: x @ matrix.t(),
            True: lambda: (torch._int_mm(levels, whole.t()), torch._int_mm(levels, whole.t())),
        }
    )
