"""What the C library does with freed memory. Both ways are glibc's; with another library nothing is done."""

import ctypes
from contextlib import suppress

# Parameters of mallopt(3), from glibc's malloc.h, and the value with which it never trims.
M_TRIM_THRESHOLD, M_MMAP_MAX, M_ARENA_MAX = -1, -4, -8
NEVER = -1

_ELSEWHERE = (AttributeError, OSError, TypeError)


def release_freed() -> None:
    """Freed memory goes back to the system now, a matter of milliseconds.

    A heap that serves tensors of ever other sizes keeps most of it otherwise.
    """
    with suppress(*_ELSEWHERE):
        ctypes.CDLL(None).malloc_trim(0)


def keep_freed() -> None:
    """From now on freed memory is kept and used again: for a process whose large tensors have the same sizes each step.

    Otherwise every large tensor is fresh pages from the system, each to be cleared: almost half of a training step.
    """
    with suppress(*_ELSEWHERE):
        library = ctypes.CDLL(None)
        for parameter, value in ((M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, NEVER), (M_ARENA_MAX, 1)):
            library.mallopt(parameter, value)
