"""Freed memory goes back to the system. A heap that serves tensors of ever other sizes keeps most of it otherwise."""

import ctypes


def release_freed() -> None:
    """Ask the C library to return what is free, a matter of milliseconds. Only glibc can; elsewhere nothing is done."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        return
