"""Memory that is not needed now, and how to recognise that there is none left. Does not import torch."""

import ctypes
import gc
import mmap
import sys
from contextlib import suppress
from pathlib import Path

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # parameters of mallopt(3), from glibc's malloc.h
RECYCLED = 24 << 20  # bytes; a prompt's buffer is larger, so it takes memory only for the slots that are used

_ELSEWHERE = (AttributeError, OSError, TypeError)


def release_freed() -> None:
    """Return freed memory to the system, which takes a few milliseconds.

    Otherwise a heap whose tensors keep changing size retains most of it.
    """
    with suppress(*_ELSEWHERE):
        ctypes.CDLL(None).malloc_trim(0)


def recycle_freed() -> None:
    """Reuse the memory of freed arrays of up to RECYCLED bytes until `release_freed`.

    Otherwise every pass gets new pages for its predictions, which takes the system 0.2 ms for each row.
    """
    with suppress(*_ELSEWHERE):
        library = ctypes.CDLL(None)
        for parameter, value in ((M_MMAP_THRESHOLD, RECYCLED), (M_TRIM_THRESHOLD, 8 * RECYCLED)):
            library.mallopt(parameter, value)


def release_mapped(path: Path) -> None:
    """Release the memory of a file that a library has mapped, on Linux. Later reads come from the file again."""
    with suppress(*_ELSEWHERE):
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
        for line in maps.splitlines():
            if line.endswith(f" {path.resolve()}"):
                start, end = (int(address, 16) for address in line.split(" ", 1)[0].split("-"))
                ctypes.CDLL(None).madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), mmap.MADV_DONTNEED)


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
