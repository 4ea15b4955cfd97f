"""What a process writes to stderr, which may be a file on a full disk. That must end neither its work nor its exit."""

import contextlib
import os
import sys
from typing import NoReturn


def say(text: str) -> None:
    """Write lines to stderr, if there is room for them."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{text}\n")


def exit_now(status: int) -> NoReturn:
    """Exit without waiting for threads, which may be blocked. Write what was logged, if there is room for it."""
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    os._exit(status)
