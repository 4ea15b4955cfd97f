"""A lock between processes. The operating system releases it when its process ends."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock


@contextlib.contextmanager
def locked(file: Path, seconds: float) -> Iterator[Path]:
    """Hold the lock next to `file`. Raises TimeoutError, an OSError, if another process holds it for `seconds`."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with FileLock(file.with_suffix(".lock"), seconds, mode=0o600, poll_interval=0.02):
        yield file
