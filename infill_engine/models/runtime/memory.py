"""Whether a model fits into memory."""

import torch

from infill_engine.errors import ModelTooLargeError
from infill_engine.models.checkpoint.files import Checkpoint
from infill_engine.models.checkpoint.folder import name_of
from infill_engine.models.quantization.weight_only import INT4, INT8
from infill_engine.models.runtime.devices import free_memory

PRECISIONS = (  # that a user can choose, largest first
    ("fp32", torch.float32, ""),
    ("bf16", torch.bfloat16, ""),
    ("int8", torch.bfloat16, INT8),
    ("int4", torch.bfloat16, INT4),
)
OVERHEAD = 1.1  # times the weights: activations, keys and values, library state


def require_memory(checkpoint: Checkpoint, device: str, dtype: torch.dtype, stored: str = "") -> None:
    """Raise ModelError if the weights, in `dtype` or packed as `stored` says, do not fit into the device's memory."""
    available = free_memory(device)
    needed = int(checkpoint.bytes_in(dtype, stored) * OVERHEAD)
    if needed > available:
        raise ModelTooLargeError(
            f"{name_of(checkpoint.folder)} needs about {needed / 1e9:.1f} GB and {device} has {available / 1e9:.1f} GB "
            f"free. {remedy_for(checkpoint, available, needed)}"
        )


def remedy_for(checkpoint: Checkpoint, available: int, needed: int) -> str:
    """Return what to do if a model needs too many bytes: use the largest precision that fits, or another remedy."""
    for name, dtype, stored in PRECISIONS:
        smaller = int(checkpoint.bytes_in(dtype, stored) * OVERHEAD)
        if smaller <= available and smaller < needed:
            return f"The precision {name} takes {smaller / 1e9:.1f} GB; or free some memory, or use a smaller model"
    return "It does not fit even with the precision int4: free some memory, choose another device, or a smaller model"
