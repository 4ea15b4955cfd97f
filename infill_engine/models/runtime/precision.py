"""The floating-point types that models compute in, by the names that users write."""

from functools import partial

import torch

from infill_engine.errors import InputError
from infill_engine.models.quantization.weight_only import INT4, INT8
from infill_engine.models.runtime.devices import MLX, on_apple_silicon
from infill_engine.models.runtime.timing import quickest
from infill_engine.settings import AUTO, ModelSettings

DTYPES = {
    "fp32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


def dtype_of(settings: ModelSettings, device: str) -> torch.dtype:
    """Return the precision of the computation. Raises InputError for an unknown one."""
    if settings.dtype == AUTO or settings.stored:
        return fastest_dtype(device)
    if settings.dtype not in DTYPES:
        known = ", ".join(name for name in (*DTYPES, INT8, INT4) if "float" not in name)
        raise InputError(f"precision `{settings.dtype}` is not known; use `auto` or one of: {known}")
    return DTYPES[settings.dtype]


def fastest_dtype(device: str, rows: int = 96) -> torch.dtype:
    """Half precision on GPUs; on a CPU the faster of bfloat16 and float32, measured now.

    Half precision means bfloat16, since published models are trained in it and many overflow in float16. MLX is the
    exception: it runs only the default model, which does not overflow, and some Apple processors support only float16.

    `rows` is how many tokens are multiplied by a matrix at once, which also affects which type is faster.
    """
    if device == MLX and not on_apple_silicon():
        return torch.float32
    if device != "cpu":
        return torch.float16 if device == MLX else torch.bfloat16
    sides = {
        dtype: (torch.ones(rows, 384, dtype=dtype), torch.ones(384, 1024, dtype=dtype))
        for dtype in (torch.float32, torch.bfloat16)
    }
    return quickest({dtype: partial(torch.matmul, *pair) for dtype, pair in sides.items()})
