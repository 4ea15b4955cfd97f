"""A log of what the engine does, one JSON object a line. Off unless the user names a folder.

A fact is a number, or one of our own words and sentences. No function here takes a request or an answer, so no text of
a document can get into the log.
"""

import json
import logging
import os
import queue
import threading
import time
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Protocol

LARGEST_BYTES, OLDER_FILES = 1_000_000, 3
SECONDS_TO_END = 0.5  # for what waits to be written when the process ends

Fact = str | int | float | bool | None


class Log(Protocol):
    """Where events go."""

    def __call__(self, event: str, **facts: Fact) -> None: ...


def silent(event: str, **facts: Fact) -> None:
    """Log nothing."""


class EventLog:
    """Writes events to a file from a thread of its own, so that a slow disk delays no answer.

    A process and the one after it may write to one file for a moment. Each line is one write in append mode, so lines
    stay whole; if one process starts a new file, the other's next lines are in the older one.
    """

    def __init__(self, path: Path, largest_bytes: int = LARGEST_BYTES) -> None:
        """Open the log in a folder that only its user can enter. Raises OSError."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._handler = _Handler(path, maxBytes=largest_bytes, backupCount=OLDER_FILES, encoding="utf-8")
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="log", daemon=True)
        self._thread.start()

    def __call__(self, event: str, **facts: Fact) -> None:
        """Log an event."""
        self._lines.put(json.dumps({"time": round(time.time(), 3), "pid": os.getpid(), "event": event, **facts}))

    def close(self) -> None:
        """Write what waits, unless the disk does not answer."""
        self._lines.put(None)
        self._thread.join(SECONDS_TO_END)

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            self._handler.handle(logging.LogRecord("", logging.INFO, "", 0, line, None, None))


class _Handler(RotatingFileHandler):
    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, self.mode, encoding=self.encoding, opener=_private)  # type: ignore[return-value]

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Drop a line that cannot be written: the disk is full, for example."""


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)
