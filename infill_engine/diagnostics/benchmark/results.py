"""Raw results: one JSON object a line, written as soon as it was measured.

{"record": "run", "format": 2, …}    first line: machine, versions, what was asked for
{"record": "answer", …}              what was measured
{"record": "missing", …}             what was not, and why
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from infill_engine.errors import InputError

FORMAT = 2
NAME = "results.jsonl"

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class BenchmarkSetting:
    """How many candidates are wanted, and in how many milliseconds."""

    candidates: int
    budget_ms: float

    def __str__(self) -> str:
        return f"{self.candidates} in {self.budget_ms:.0f} ms"


@dataclass(slots=True)
class Results:
    """The lines of one run. Those that are added are written to the file, if there is one."""

    path: Path
    header: Record
    records: list[Record] = field(default_factory=list)
    _file: IO[str] | None = None

    def add(self, record: str, **values: Any) -> None:
        """Add something that was measured. Raises InputError if it cannot be written."""
        line = {"record": record, **values}
        self.records.append(line)
        self._write(line)

    def missing(self, what: str, why: str) -> None:
        """Add something that was not measured, with the reason."""
        self.add("missing", what=what, why=why)

    def of(self, record: str, **values: Any) -> list[Record]:
        """Return all records of a kind with these values."""
        return [
            line
            for line in self.records
            if line["record"] == record and all(line.get(key) == value for key, value in values.items())
        ]

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, line: Mapping[str, Any]) -> None:
        if self._file is None:
            return
        try:
            self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
            self._file.flush()
        except OSError as error:
            raise InputError(
                f"{self.path} cannot be written ({error.strerror}); make room and run this again"
            ) from error


def create(folder: Path, header: Record) -> Results:
    """Return new results in `folder`. Raises InputError if it cannot be written or has results already."""
    results = Results(folder / NAME, {"record": "run", "format": FORMAT, **header})
    try:
        folder.mkdir(parents=True, exist_ok=True)
        results._file = results.path.open("x", encoding="utf-8")
    except OSError as error:
        where = f"{error.filename or folder} cannot be written ({error.strerror})"
        raise InputError(f"{where}; give another folder with --out") from error
    results._write(results.header)
    return results
