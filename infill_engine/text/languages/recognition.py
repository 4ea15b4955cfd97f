"""Recognise a document's language from its first and last lines, where its name or the editor may be wrong."""

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath

from infill_engine.text.languages.record_files import GENERIC
from infill_engine.text.languages.registry import all_entries, language, language_of

LOOKED_AT = 4096  # characters at the beginning that are examined
MODELINES = 5  # lines at either end that may name the language for Vim or Emacs
LONGEST_LINE = 200  # characters of such a line that are examined

_VIM = re.compile(r"\b(?:vim?|ex):(?:.*[\s:])?(?:ft|filetype|syntax)=(\w+)")
_EMACS = re.compile(r"-\*-\s*(?:.*\bmode:\s*)?([\w+#-]+)\s*(?:;.*)?-\*-", re.IGNORECASE)


class Evidence(StrEnum):
    """How a language was recognised."""

    EDITOR = "the editor says so"
    CONTENT = "its content says so"
    NAME = "its name says so"
    FIRST_LINE = "its first line says so"
    MODELINE = "a modeline says so"
    NONE = "nothing names a language"


@dataclass(frozen=True, slots=True)
class Recognised:
    """The LSP identifier of a document's language, and what it was recognised by."""

    language: str
    evidence: Evidence


def recognise(identifier: str, path: str, text: str) -> Recognised:
    """Return the language of a document that the editor calls `identifier`.

    `path` is a path or URI. If several languages share the suffix, the content decides. The name, the `#!` line and
    modelines count only if the editor names no language. The cost does not depend on the length of `text`.
    """
    beginning = text[:LOOKED_AT]
    by_content = _by_content(identifier, path, beginning)
    if by_content is not None:
        return Recognised(by_content, Evidence.CONTENT)
    if not _is_unnamed(identifier):
        return Recognised(identifier, Evidence.EDITOR)
    by_name = language_of(path)
    if by_name is not None:
        return Recognised(by_name, Evidence.NAME)
    by_first_line = language_of("", beginning.partition("\n")[0].rstrip("\r"))
    if by_first_line is not None:
        return Recognised(by_first_line, Evidence.FIRST_LINE)
    by_modeline = _by_modeline(beginning, text[-LOOKED_AT:])
    if by_modeline is not None:
        return Recognised(by_modeline, Evidence.MODELINE)
    return Recognised(identifier, Evidence.NONE)


def _is_unnamed(identifier: str) -> bool:
    """Return whether the editor names no language for the document."""
    return not identifier or language(identifier).id == "plaintext"


def _by_content(identifier: str, path: str, beginning: str) -> str | None:
    """Return the language that the beginning shows, if the suffix is ambiguous and the editor relied on it."""
    suffix = PurePath(path).suffix.lower()
    if not _is_unnamed(identifier) and language(identifier).id != language_of(path):
        return None  # the user has chosen another language
    for entry in all_entries():
        identity = entry.identity
        if suffix in identity.ambiguous and identity.content is not None and identity.content.search(beginning):
            return entry.id
    return None


def _by_modeline(beginning: str, end: str) -> str | None:
    for line in (*beginning.split("\n")[:MODELINES], *end.split("\n")[-MODELINES:]):
        for pattern in (_VIM, _EMACS):
            found = pattern.search(line[:LONGEST_LINE])
            if found is not None:
                named = language(found[1]).id
                if named != GENERIC:
                    return named
    return None
