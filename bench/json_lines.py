"""Writes raw results as JSON lines, small enough to commit."""

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

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
