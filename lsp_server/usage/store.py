"""The counts file shared by all servers of a user. They take turns, and each replaces the whole file atomically.

It holds numbers by day and name (`usage.counters`) and is readable only by its owner. A file that cannot be parsed is
moved aside, not overwritten.
"""

import contextlib
import json
import os
import time
from collections import Counter
from pathlib import Path

from infill_engine.errors import InputError
from infill_engine.models.checkpoint.user_data import state_folder
from infill_engine.serving.file_lock import locked
from lsp_server.usage.counters import Days, merge

FORMAT = 1
NAME = "statistics.json"
DAYS_KEPT = 400
LARGEST_BYTES = 4_000_000
LOCK_SECONDS = 1.0  # longest wait for another server


def path() -> Path:
    """Return the path of the counts file."""
    return state_folder() / NAME


def read() -> tuple[Days, str | None]:
    """Return all counts, and a message for the user if the file was damaged.

    Raises OSError if the file cannot be read, InputError if a newer version wrote it.
    """
    with locked(path(), LOCK_SECONDS) as file:
        return _read(file)


def add(days: Days) -> str | None:
    """Add counts to the file. Return a message for the user if the file was damaged, else None.

    Raises what `read` raises, and OSError if the file cannot be written. After an exception nothing has been added.
    """
    with locked(path(), LOCK_SECONDS) as file:
        held, warning = _read(file)
        merge(held, days)
        kept = sorted(held)[-DAYS_KEPT:]
        _write(file, {day: +held[day] for day in kept})
        return warning


def reset() -> bool:
    """Delete all counts. Return whether there were any."""
    with locked(path(), LOCK_SECONDS) as file:
        try:
            file.unlink()
        except FileNotFoundError:
            return False
        return True


def _read(file: Path) -> tuple[Days, str | None]:
    try:
        with file.open("rb") as stream:
            data = stream.read(LARGEST_BYTES + 1)
    except FileNotFoundError:
        return {}, None
    try:
        if len(data) > LARGEST_BYTES:
            raise ValueError
        return _decoded(data), None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        aside = file.with_name(f"{file.stem}.damaged-{time.time_ns()}{file.suffix}")
        os.replace(file, aside)
        return {}, f"infill-ls: the statistics in {file} were damaged; they are now {aside}, and counting starts anew."


def _decoded(data: bytes) -> Days:
    content = json.loads(data)
    if content["format"] > FORMAT:
        raise InputError(f"{path()} was written by a newer infill-ls; update this one, or delete the file")
    days: Days = {}
    for day, counts in content["days"].items():
        if not all(isinstance(number, int) for number in counts.values()):
            raise TypeError
        days[day] = Counter(counts)
    return days


def _write(file: Path, days: Days) -> None:
    fresh = file.with_name(f".{file.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as stream:
            json.dump({"format": FORMAT, "days": days}, stream, separators=(",", ":"), sort_keys=True)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(fresh, file)
    except OSError:
        with contextlib.suppress(OSError):
            fresh.unlink()
        raise
