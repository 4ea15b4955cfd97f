"""Memory that runs out: how that is told from other faults, and what gives some back."""

import gc

import torch

# In a plain RuntimeError, the last of them of CUDA's libraries.
_SAID = ("can't allocate memory", "not enough memory", "out of memory", "alloc_failed")


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error says that tensors could not be allocated."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error).lower() for words in _SAID)


def give_back(device: str) -> None:
    """Returns what is allocated and not used to the device."""
    gc.collect()
    if device.startswith("cuda"):
        torch.cuda.empty_cache()
    elif device.startswith("mps"):
        torch.mps.empty_cache()
