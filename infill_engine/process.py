"""What every process keeps to: a full disk ends neither its work nor its exit, and no file gets text of a document."""

import contextlib
import os
import sys
from collections.abc import Callable
from traceback import format_tb
from typing import BinaryIO, NoReturn

Report = Callable[[str, float], None]  # is told the current task, and the share of it that is done


def say(text: str) -> None:
    """Write lines to stderr, if there is room for them."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{text}\n")


def without_text(fault: BaseException) -> str:
    """Return what may be logged of a fault: its type and where it happened. Its message may contain the user's text."""
    return f"{type(fault).__name__}\n{''.join(format_tb(fault.__traceback__))}"


def exit_now(status: int) -> NoReturn:
    """Exit without waiting for threads, which may be blocked. Write what was logged, if there is room for it."""
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    os._exit(status)


def reserve_stdio() -> tuple[BinaryIO, BinaryIO]:
    """Return stdin and stdout as our own binary streams.

    File descriptor 1 becomes stderr, so that what prints, in C code too, breaks no message.
    """
    stdout = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return sys.stdin.buffer, stdout


def write_no_core_files() -> None:
    """Keep this process and those that it starts from writing core files."""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
