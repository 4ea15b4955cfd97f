"""JSON lines: raw results, small enough to commit, and large files that are read in any order."""

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from infill_engine.errors import InputError

COMMITTED_BYTES = 1_000_000  # larger results are gzipped


def write_lines(rows: Iterable[dict[str, Any]], path: Path) -> Path:
    """Write one JSON object per line, gzipped if the result is large. Return the path that was written."""
    data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    plain = path.with_name(path.name.removesuffix(".gz"))
    zipped = path.with_name(plain.name + ".gz")
    if len(data) <= COMMITTED_BYTES and path == plain:
        zipped.unlink(missing_ok=True)
        plain.write_bytes(data)
        return plain
    plain.unlink(missing_ok=True)
    zipped.write_bytes(gzip.compress(data, 9, mtime=0))
    return zipped


class Unfinished:
    """The rows of a run that has not ended, in a file that grows by one line for each.

    The first line holds the run's settings. Raises InputError if the file is of a run with other settings.
    """

    def __init__(self, out: Path, settings: Mapping[str, Any]) -> None:
        """Open the file beside `out`, where the results of the whole run will go."""
        self.path = out.with_name(f"{out.name.split('.')[0]}.partial.jsonl")
        lines = self.path.read_text().split("\n")[:-1] if self.path.exists() else []  # without an end, it was cut
        if lines and json.loads(lines[0]) != settings:
            raise InputError(f"{self.path} is of a run with other settings: remove it, or choose another --out")
        self.rows: list[dict[str, Any]] = [json.loads(line) for line in lines[1:]]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("".join(line + "\n" for line in lines or [json.dumps(settings)]))

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        """Keep further rows."""
        with self.path.open("a") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        self.rows += rows


def places(lines: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield where each line of a file begins, and the line."""
    at = 0
    for line in lines:
        yield at, line
        at += len(line)


def read_at(lines: BinaryIO, at: int) -> dict[str, Any]:
    """Return the object of the line that begins there."""
    lines.seek(at)
    found: dict[str, Any] = json.loads(lines.readline())
    return found
