"""Chooses the dtype in which losses are computed. Weights and optimisers are always float32."""

from collections.abc import Callable

import torch

from infill_engine.models.quantization.int8_kernels import PROBED, OneDnn, is_exact
from infill_engine.models.runtime.precision import fastest_dtype
from infill_engine.models.runtime.timing import quickest

Precision = Callable[[], torch.autocast]

ROWS = 2048  # fewest tokens per matrix product


def dtype_of(place: torch.device) -> torch.dtype:
    """Return bfloat16 if it is faster on this device, else float32. float16 would need loss scaling.

    Not every processor with bfloat16 support is faster with it: some multiply float32 matrices at twice the rate.
    """
    return torch.bfloat16 if fastest_dtype(place.type, ROWS) is torch.bfloat16 else torch.float32


def precision_of(place: torch.device) -> Precision:
    """Return the precision for computing losses, decided once."""
    enabled = dtype_of(place) is torch.bfloat16
    return lambda: torch.autocast(place.type, torch.bfloat16, enabled=enabled)


def rounding_pays(place: torch.device) -> bool:
    """Return whether int8 products are so much faster here that rounding their factors pays.

    Compiled together with the surrounding operations, rounding takes about as long as such a product; on its own,
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
