"""What the C library does with freed memory. The functions use glibc calls; with another library they do nothing."""

import ctypes
from contextlib import suppress

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # parameters of mallopt(3), from glibc's malloc.h
RECYCLED = 32 << 20  # bytes, the largest threshold that glibc takes

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
