"""Raw results: one JSON object a line, written as soon as it was measured.

    {"record": "run", "format": 1, …}           first line: machine, versions, plan
    {"record": "begin", "unit": "fight 1/4"}    a unit of measurements begins
    {"record": "answer", …}                     what was measured
    {"record": "done", "unit": "fight 1/4"}

A run that was interrupted resumes after its last finished unit. What a unit measured before it was interrupted stays in
the file and counts until the unit is measured again.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from infill_engine.errors import InputError

FORMAT = 1
NAME = "results.jsonl"
SAME = ("format", "version", "suite", "models", "seed", "problems", "machine")

Record = dict[str, Any]


@dataclass(slots=True)
class Results:
    """The lines of one run: those read, and those that are added to the file."""

    path: Path
    header: Record
    records: list[Record] = field(default_factory=list)
    finished: set[str] = field(default_factory=set)
    damaged: int = 0  # lines that are not JSON, such as the last one of an interrupted run
    _file: IO[str] | None = None
    _unit: str = ""

    def begin(self, unit: str) -> None:
        """Start a unit of measurements. What an earlier, interrupted attempt at it measured no longer counts."""
        self._unit = unit
        self.records = [record for record in self.records if record.get("unit") != unit]
        self._write({"record": "begin", "unit": unit})

    def add(self, record: str, **values: Any) -> None:
        """Add something that was measured."""
        line = {"record": record, "unit": self._unit, **values}
        self.records.append(line)
        self._write(line)

    def missing(self, what: str, why: str) -> None:
        """Add something that was not measured, with the reason."""
        self.add("missing", what=what, why=why)

    def finish(self) -> None:
        """End the unit."""
        self.finished.add(self._unit)
        self._write({"record": "done", "unit": self._unit})
        self._unit = ""

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
            self._file.write(_encoded(line))
            self._file.flush()
        except OSError as error:
            raise InputError(
                f"{self.path} cannot be written ({error.strerror}); make room and run this again with the same --out"
            ) from error


def create_or_resume(folder: Path, header: Record) -> Results:
    """Return the results in `folder`: new ones, or those of an interrupted run of the same kind, which goes on.

    Raises InputError if the folder cannot be written or holds results of something else.
    """
    path, header = folder / NAME, {"record": "run", "format": FORMAT, **header}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_new = not path.exists() or not path.stat().st_size
        results = Results(path, header) if is_new else _resumed(path, header)
        results._file = path.open("a", encoding="utf-8")
        if is_new:
            results._write(header)
        else:
            results._file.write("\n")  # the last line may have been cut
    except OSError as error:
        raise InputError(f"{folder} cannot be written ({error.strerror}); give another folder with --out") from error
    return results


def read_results(path: Path) -> Results:
    """Return the results in a file or its folder. Raises InputError for anything else, or another format."""
    path = path / NAME if path.is_dir() else path
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        detail = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise InputError(f"{path} cannot be read ({detail}); give the folder or file of a benchmark run") from error
    lines, damaged = _parsed(text)
    if not lines or lines[0].get("record") != "run":
        raise InputError(f"{path} holds no results of a benchmark run; give the folder that `infill-ls bench` named")
    header = lines[0]
    if header.get("format") != FORMAT:
        raise InputError(
            f"{path} has results of format {header.get('format')} (infill-ls {header.get('version')}), and this "
            f"version reads format {FORMAT}; measure again with the same version on both sides"
        )
    results = Results(path, header, damaged=damaged)
    for line in lines[1:]:
        if line["record"] == "begin":
            results.records = [record for record in results.records if record.get("unit") != line["unit"]]
            results.finished.discard(line["unit"])
        elif line["record"] == "done":
            results.finished.add(line["unit"])
        else:
            results.records.append(line)
    return results


def _resumed(path: Path, header: Record) -> Results:
    results = read_results(path)
    for key in SAME:
        before, now = results.header.get(key), header.get(key)
        if before != now:
            raise InputError(
                f"{path.parent} holds a run with {key} {before}, and this one has {now}; give another folder with --out"
            )
    return results


def _parsed(text: str) -> tuple[list[Record], int]:
    lines: list[Record] = []
    damaged = 0
    for line in filter(str.strip, text.split("\n")):
        try:
            value = json.loads(line)
        except ValueError:
            damaged += 1
            continue
        if isinstance(value, dict) and isinstance(value.get("record"), str):
            lines.append(value)
        else:
            damaged += 1
    return lines, damaged


def _encoded(line: Mapping[str, Any]) -> str:
    return json.dumps(line, ensure_ascii=False) + "\n"
