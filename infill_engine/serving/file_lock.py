"""A lock between processes. The operating system releases it when its process ends."""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

RETRY_SECONDS = 0.02


@contextlib.contextmanager
def locked(file: Path, seconds: float) -> Iterator[Path]:
    """Hold the lock next to `file`. Raises TimeoutError, an OSError, if another process holds it for `seconds`."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)  # Windows has no such flag
    descriptor = os.open(file.with_suffix(".lock"), flags, 0o600)
    try:
        give_up = time.monotonic() + seconds
        while not _try_lock(descriptor):
            if time.monotonic() > give_up:
                raise TimeoutError(f"{file} is locked by another process")
            time.sleep(RETRY_SECONDS)
        yield file
    finally:
        os.close(descriptor)  # releases the lock


def _try_lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
