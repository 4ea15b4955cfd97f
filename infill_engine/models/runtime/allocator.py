"""What the C library does with freed memory. The functions use glibc calls; with another library they do nothing."""

import ctypes
from contextlib import suppress

# Parameters of mallopt(3), from glibc's malloc.h, and the threshold value that disables trimming.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_MMAP_MAX, M_ARENA_MAX = -1, -3, -4, -8
RECYCLED = 32 << 20  # bytes, the largest threshold that glibc takes
NEVER = -1

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


def keep_freed() -> None:
    """Keep freed memory for reuse from now on, for a process whose large tensors have the same sizes in each step.

    Otherwise every large tensor gets new pages from the system, which must be zeroed: almost half of a training step.
    """
    with suppress(*_ELSEWHERE):
        library = ctypes.CDLL(None)
        for parameter, value in ((M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, NEVER), (M_ARENA_MAX, 1)):
            library.mallopt(parameter, value)
