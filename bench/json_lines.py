"""JSON lines: raw results, small enough to commit, and large files that are read in any order."""

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

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
