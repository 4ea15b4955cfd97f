"""The counts of all servers of a user, in one SQLite file that only its owner can read.

It holds numbers by day and name (`usage.counters`). A file that is not such a database is moved aside, not overwritten.
"""

import os
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from infill_engine.errors import InputError
from infill_engine.models.checkpoint.user_data import state_folder

FORMAT = 1
NAME = "statistics.db"
DAYS_KEPT = 400
LOCK_SECONDS = 1.0  # longest wait for another server

Counts = Counter[str]
Days = dict[str, Counts]  # by ISO date

_CREATE = (
    "CREATE TABLE IF NOT EXISTS counts (day TEXT, name TEXT, number INTEGER, PRIMARY KEY (day, name)) WITHOUT ROWID"
)
_ADD = """INSERT INTO counts VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET number = number + excluded.number"""
_FORGET = "DELETE FROM counts WHERE day NOT IN (SELECT DISTINCT day FROM counts ORDER BY day DESC LIMIT ?)"


def path() -> Path:
    """Return the path of the counts file."""
    return state_folder() / NAME


def read() -> tuple[Days, str | None]:
    """Return all counts, and a message for the user if the file was damaged.

    Raises OSError if the file cannot be read, InputError if a newer version wrote it.
    """
    try:
        path().stat()
    except FileNotFoundError:
        return {}, None
    return _unless_damaged({})


def add(days: Mapping[str, Mapping[str, int]]) -> str | None:
    """Add counts to the file. Return a message for the user if the file was damaged, else None.

    Raises what `read` raises, and OSError if the file cannot be written. After an exception nothing has been added.
    """
    return _unless_damaged(days)[1]


def reset() -> bool:
    """Delete all counts. Return whether there were any."""
    try:
        path().unlink()
    except FileNotFoundError:
        return False
    return True


def _unless_damaged(days: Mapping[str, Mapping[str, int]]) -> tuple[Days, str | None]:
    try:
        return _added(days), None
    except sqlite3.OperationalError as error:
        raise OSError(str(error)) from error
    except (sqlite3.DatabaseError, ValueError):
        aside = path().with_name(f"{path().stem}.damaged-{time.time_ns()}{path().suffix}")
        os.replace(path(), aside)
        warning = f"infill-ls: the statistics in {path()} were damaged; they are now {aside}, and counting starts anew."
        return _added(days), warning


def _added(days: Mapping[str, Mapping[str, int]]) -> Days:
    """Add counts to the file and return all that it holds."""
    with _opened() as database:
        database.executemany(_ADD, [(day, *count) for day, counts in days.items() for count in counts.items()])
        database.execute(_FORGET, (DAYS_KEPT,))
        held: Days = {}
        for day, name, number in database.execute("SELECT day, name, number FROM counts WHERE number != 0"):
            held.setdefault(day, Counter())[name] = int(number)
        return held


@contextmanager
def _opened() -> Iterator[sqlite3.Connection]:
    """Open the file for one transaction."""
    path().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path(), os.O_WRONLY | os.O_CREAT, 0o600))  # SQLite would let others read it
    database = sqlite3.connect(path(), timeout=LOCK_SECONDS, isolation_level=None)
    try:
        database.execute("BEGIN IMMEDIATE")
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version > FORMAT:
            raise InputError(f"{path()} was written by a newer infill-ls; update this one, or delete the file")
        database.execute(_CREATE)
        database.execute(f"PRAGMA user_version = {FORMAT}")
        yield database
        database.execute("COMMIT")
    finally:
        database.close()
