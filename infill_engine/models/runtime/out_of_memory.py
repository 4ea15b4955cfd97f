"""How to recognise that memory ran out, and how to release some. Does not import torch."""

import gc
import sys

# Texts of plain RuntimeErrors; the last one is from CUDA's libraries.
_SAID = ("can't allocate memory", "not enough memory", "out of memory", "alloc_failed", "bad_alloc")


def is_out_of_memory(error: Exception) -> bool:
    """Return whether an error means that tensors could not be allocated."""
    torch = sys.modules.get("torch")
    if isinstance(error, MemoryError) or (torch is not None and isinstance(error, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error).lower() for words in _SAID)


def give_back(device: str) -> None:
    """Return allocated but unused memory to the device."""
    gc.unfreeze()  # the model may be among what was frozen after loading
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and device.startswith("cuda"):
        torch.cuda.empty_cache()
    elif torch is not None and device.startswith("mps"):
        torch.mps.empty_cache()
