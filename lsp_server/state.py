"""Where the user's own data lies: the statistics and the adapted models. Nothing else of ours is written anywhere."""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

STATE_DIR = "INFILL_STATE_DIR"  # the environment variable that names another folder
RETRY_SECONDS = 0.02


def state_folder() -> Path:
    """The folder; it may not exist yet."""
    folder = os.environ.get(STATE_DIR)
    if folder:
        return Path(folder).expanduser().absolute()
    from platformdirs import user_state_dir

    return Path(user_state_dir("infill-ls", appauthor=False))


@contextlib.contextmanager
def locked(file: Path, seconds: float) -> Iterator[Path]:
    """Nobody else holds the lock beside `file`. Raises TimeoutError, an OSError, if somebody keeps it for so long."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        give_up = time.monotonic() + seconds
        while not _try_lock(descriptor):
            if time.monotonic() > give_up:
                raise TimeoutError(f"{file} is locked by another process")
            time.sleep(RETRY_SECONDS)
        yield file
    finally:
        os.close(descriptor)  # and with it the lock


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
