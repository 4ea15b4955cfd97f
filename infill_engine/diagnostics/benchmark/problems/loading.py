"""Reads the problems from their TOML files.

[[problem]]
id = "line-mean"                unique
kind = "line"                   one of KINDS
language = "python"             an LSP language identifier; python if missing
text = '''…⟦original⟧…'''       a document with the hole's original text marked
also = ["…"]                    other texts that are right
tests = '''assert …'''          Python that runs after the completed text, or with `value`, the parsed JSON
schema = '''create table …'''   for SQL: tables that the query is run on
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from infill_engine.errors import InputError
from infill_engine.types import InfillRequest

FOLDER = Path(__file__).parent
KINDS = ("line", "middle", "statement", "block", "specification", "json", "sql", "repair", "constraint")
OPEN, CLOSE = "⟦", "⟧"
_KEYS = {"id": str, "kind": str, "language": str, "text": str, "also": list, "tests": str, "schema": str}
_REQUIRED = ("id", "kind", "text")


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
        for number, entry in enumerate(_entries(path), 1):
            problem = _problem(entry, f"{path}, problem {number}")
            if problem.id in found:
                raise InputError(f"{path}, problem {number}: the id {problem.id!r} is used twice; give it another one")
            found[problem.id] = problem
    if not found:
        raise InputError(f"{', '.join(map(str, chosen))}: no problems; write at least one [[problem]]")
    return tuple(found.values())


def digest(problems: Sequence[Problem]) -> str:
    """Return a name for a set of problems: equal sets have equal names."""
    return blake2b(repr(problems).encode(), digest_size=6).hexdigest()


def _entries(path: Path) -> list[Any]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        detail = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise InputError(f"{path} cannot be read ({detail}); give a TOML file with problems") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not TOML: {error}; mend that line") from error
    entries = data.get("problem", [])
    return entries if isinstance(entries, list) else [entries]


def _problem(entry: Any, where: str) -> Problem:
    if not isinstance(entry, Mapping):
        raise InputError(f"{where} is not a table; write it as [[problem]]")
    for key, value in entry.items():
        if key not in _KEYS or not isinstance(value, _KEYS[key]):
            raise InputError(f"{where}: {key} is not known or not of the right type; known are {', '.join(_KEYS)}")
    if missing := [key for key in _REQUIRED if not entry.get(key)]:
        raise InputError(f"{where} has no {missing[0]}; every problem needs {', '.join(_REQUIRED)}")
    if entry["kind"] not in KINDS:
        raise InputError(f"{where} has the kind {entry['kind']!r}; there are {', '.join(KINDS)}")
    text = entry["text"].lstrip("\n")
    if text.count(OPEN) != 1 or text.count(CLOSE) != 1 or text.index(CLOSE) < text.index(OPEN):
        raise InputError(f"{where}: mark exactly one hole in its text, as {OPEN}original{CLOSE}")
    prefix, _, rest = text.partition(OPEN)
    truth, _, suffix = rest.partition(CLOSE)
    return Problem(
        entry["id"],
        entry["kind"],
        entry.get("language", "python"),
        prefix,
        suffix,
        truth,
        tuple(entry.get("also", ())),
        entry.get("tests", ""),
        entry.get("schema", ""),
    )
