"""Read a language's record. An error names the file and the key.

A record has only what differs from the record it `extends`, by default `generic`. The names in `identity` and the
support are never inherited.
"""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from infill_engine.text.languages.lexical import Pattern
from infill_engine.text.languages.record import Entry, Language, RecordError, Support

GENERIC = "generic"
FOLDER = Path(__file__).parent / "records"
_OWN = ("identity", "embedded", "name", "support")  # not inherited
_T = TypeVar("_T")


def record_ids() -> tuple[str, ...]:
    """Return the ids of all records, `generic` aside."""
    return tuple(sorted({path.stem for path in FOLDER.iterdir() if path.suffix == ".toml"} - {GENERIC}))


def load(name: str, folder: Path = FOLDER) -> Language:
    """Return the language of the record `<name>.toml`, checked completely; takes 2 to 6 ms. Raises RecordError."""
    return _converted(name, _facts(name, folder), Language)


def load_entry(name: str, folder: Path = FOLDER) -> Entry:
    """Return the facts that are needed before a file is open; takes 0.6 ms. Raises RecordError."""
    facts = _facts(name, folder)
    return _converted(name, {key: facts[key] for key in Entry.__struct_fields__ if key in facts}, Entry)


def _converted(name: str, facts: dict[str, Any], kind: type[_T]) -> _T:
    try:
        return msgspec.convert(facts, kind, dec_hook=_pattern)
    except msgspec.ValidationError as fault:
        raise RecordError(f"{name}.toml: {fault}; correct the record or install infill-ls again") from fault


def _pattern(_kind: type, text: object) -> Pattern:
    if not isinstance(text, str) or not text:
        raise ValueError("Expected a regular expression")
    try:
        return re.compile(text, re.MULTILINE)
    except re.error as fault:
        raise ValueError(f"Expected a regular expression: {fault}") from fault


def _facts(name: str, folder: Path) -> dict[str, Any]:
    """Return a record with everything that it inherits, and what it need not say."""
    facts = {"id": name, **_merged(name, folder)}
    for key, default in (("identity", "family"), ("grammar", "queries")):
        if isinstance(facts.get(key), dict):
            facts[key] = {default: name, **facts[key]}
    return facts


@cache
def _merged(name: str, folder: Path) -> dict[str, Any]:
    source = f"{name}.toml"
    try:
        own = tomllib.loads((folder / source).read_text("utf-8"))
    except tomllib.TOMLDecodeError as fault:
        raise RecordError(f"{source}: not valid TOML ({fault}); correct it or install infill-ls again") from fault
    except OSError as fault:
        raise RecordError(f"{source}: cannot be read; install infill-ls again") from fault
    if name == GENERIC:
        return own
    base = own.pop("extends", GENERIC)
    if not isinstance(base, str) or base == name:
        raise RecordError(f"{source}: extends must name another record; correct the record or install infill-ls again")
    merged = {key: value for key, value in _merged(base, folder).items() if key not in _OWN}
    merged["identity"] = _merged(GENERIC, folder)["identity"]
    if own.get("support") == Support.TEXT:
        merged.pop("grammar", None)
    for key, value in own.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = {**merged[key], **value} if both else value
    return merged
