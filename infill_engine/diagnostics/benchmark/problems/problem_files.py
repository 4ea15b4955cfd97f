"""Reads the problems from their TOML files.

[[problem]]
id = "line-mean"                unique
kind = "line"                   one of `ProblemKind`
language = "python"             an LSP language identifier; python if missing
text = '''…⟦original⟧…'''       a document with the hole's original text marked
also = ["…"]                    other texts that are right
tests = '''assert …'''          Python that runs after the completed text, or with `value`, the parsed JSON
schema = '''create table …'''   for SQL: tables that the query is run on
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Literal

import msgspec

from infill_engine.errors import InputError
from infill_engine.types import InfillRequest

FOLDER = Path(__file__).parent
OPEN, CLOSE = "⟦", "⟧"
ProblemKind = Literal["line", "middle", "statement", "block", "specification", "json", "sql", "repair", "constraint"]


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    kind: ProblemKind
    text: str
    language: str = "python"
    also: tuple[str, ...] = ()
    tests: str = ""
    schema: str = ""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    problem: list[_Entry] = []


@dataclass(frozen=True, slots=True)
class Problem:
    """A hole, the text that was taken out of it, and what decides whether another text is right.

    `also` are further right texts. `tests` are Python; `schema` is SQL.
    """

    id: str
    kind: str
    language: str
    prefix: str
    suffix: str
    truth: str
    also: tuple[str, ...] = ()
    tests: str = ""
    schema: str = ""

    def request(self, candidates: int) -> InfillRequest:
        """Return the engine's request. The whole document fits its windows."""
        return InfillRequest(self.prefix, self.suffix, self.language, candidates=candidates)

    def completed(self, text: str) -> str:
        """Return the document with `text` in the hole."""
        return self.prefix + text + self.suffix


def load_problems(paths: Sequence[Path] | None = None) -> tuple[Problem, ...]:
    """The problems of some files, or all that come with infill-ls. Raises InputError, which names file and entry."""
    chosen = sorted(FOLDER.glob("*.toml")) if paths is None else paths
    found: dict[str, Problem] = {}
    for path in chosen:
        for number, entry in enumerate(_entries(path)):
            problem = _problem(entry, f"{path}, $.problem[{number}]")
            if problem.id in found:
                raise InputError(f"{path}, $.problem[{number}]: the id {problem.id!r} is used twice")
            found[problem.id] = problem
    if not found:
        raise InputError(f"{', '.join(map(str, chosen))}: no problems; write at least one [[problem]]")
    return tuple(found.values())


def digest(problems: Sequence[Problem]) -> str:
    """Return a name for a set of problems: equal sets have equal names."""
    return blake2b(repr(problems).encode(), digest_size=6).hexdigest()


def _entries(path: Path) -> list[_Entry]:
    try:
        return msgspec.toml.decode(path.read_bytes(), type=_File).problem
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); give a TOML file with problems") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a file of problems: {error}") from error


def _problem(entry: _Entry, where: str) -> Problem:
    text = entry.text.lstrip("\n")
    prefix, opened, rest = text.partition(OPEN)
    truth, closed, suffix = rest.partition(CLOSE)
    if not (opened and closed) or (text.count(OPEN), text.count(CLOSE)) != (1, 1):
        raise InputError(f"{where}: mark exactly one hole in its text, as {OPEN}original{CLOSE}")
    return Problem(entry.id, entry.kind, entry.language, prefix, suffix, truth, entry.also, entry.tests, entry.schema)
