"""The floating-point types that models compute in with torch."""

from functools import partial

import torch

from infill_engine.models.runtime.timing import quickest
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
