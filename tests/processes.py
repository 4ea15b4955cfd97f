"""Whether processes that are nobody's children here have ended."""

import time

import psutil


def has_ended(pid: int) -> bool:
    """Also where nobody has taken note of it yet: some systems do so for orphans only every other second."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def wait_for_end(pid: int, seconds: float = 30) -> None:
    """Wait until a process has ended. Raises TimeoutError."""
    end = time.monotonic() + seconds
    while not has_ended(pid):
        if time.monotonic() > end:
            raise TimeoutError(f"process {pid} has not ended")
        time.sleep(0.01)
