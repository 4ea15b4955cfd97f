"""Find a language by its LSP identifier, by a file's name, or by a script's first line."""

import re
from functools import cache
from pathlib import PurePath

from infill_engine.text.languages.record import Entry, Language
from infill_engine.text.languages.record_files import GENERIC, load, load_entry, record_ids

_SHEBANG = re.compile(r"#!\s*(\S+)(?:\s+(?:-\S+\s+|\w+=\S+\s+)*([^\s-]\S*))?")
_VERSION = re.compile(r"[\d.]+$")


@cache
def all_entries() -> tuple[Entry, ...]:
    """Return every language that has a record, sorted by id. Raises RecordError for a faulty record."""
    return tuple(load_entry(name) for name in record_ids())


def language(identifier: str) -> Language:
    """Return the language with this LSP identifier or alias; the generic one, which is plain text, if there is none."""
    return _loaded(_by_identifier().get(identifier.lower(), GENERIC))


def language_of(path: str, first_line: str = "") -> str | None:
    """Return the LSP identifier of a file's language, from its name or else its `#!` line; None if neither tells."""
    name = PurePath(path).name
    named = _by_file_name()
    found = named.get(name) or named.get(PurePath(path).suffix.lower())
    return found or _by_shebang(first_line)


@cache
def related(identifier: str) -> frozenset[str]:
    """Return the LSP identifiers whose files are searched together with this one's, including this one."""
    known = language(identifier)
    if known.id == GENERIC:
        return frozenset((identifier,))
    family = known.identity.family
    alike = (each for each in all_entries() if each.identity.family == family)
    return frozenset(name for each in alike for name in (each.id, *each.identity.aliases)) | {identifier}


@cache
def _loaded(name: str) -> Language:
    return load(name)


@cache
def _by_identifier() -> dict[str, str]:
    return {name: each.id for each in all_entries() for name in (each.id, *each.identity.aliases)}


@cache
def _by_file_name() -> dict[str, str]:
    """Return identifiers by whole file names and by suffixes with their dots."""
    return {name: each.id for each in all_entries() for name in (*each.identity.file_names, *each.identity.suffixes)}


@cache
def _by_program() -> dict[str, str]:
    return {program: each.id for each in all_entries() for program in each.identity.shebangs}


def _by_shebang(line: str) -> str | None:
    found = _SHEBANG.match(line)
    if found is None:
        return None
    program = PurePath(found[1]).name
    if program == "env" and found[2]:
        program = PurePath(found[2]).name
    return _by_program().get(program) or _by_program().get(_VERSION.sub("", program))
