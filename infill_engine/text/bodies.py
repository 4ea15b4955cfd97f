"""Bodies: whether a line opens or ends one that words or tags delimit, and whether a text leaves one empty."""

import re

from infill_engine.text import delimiters, lines
from infill_engine.text.languages import Bodies, Language
from infill_engine.text.languages import language as language_named

_COUNTED = frozenset({Bodies.WORDS, Bodies.TAGS})
_EMPTY = re.compile(r"\s*(?:\{|\b(?:do|then))\s*\n\s*(?:[})\]]+[;,]?|end|fi|done)\s*\Z")


def open_bodies(text: str, language: str) -> int:
    """Return how many bodies are open at the end of `text`; 0 if brackets or indentation delimit bodies."""
    return _balance(text, language)[0]


def ended_bodies(text: str, language: str) -> int:
    """Return how many bodies end in `text` that began before it; 0 if brackets or indentation delimit bodies."""
    return _balance(text, language)[1]


def without_empty_body(before: str, text: str, language: str) -> str:
    """Return a text that follows `before` up to the empty body in which it ends.

    The result is "" if the body begins before the text, or if a bracket would stay open.
    """
    found = _EMPTY.search(before + text)
    if found is None:
        return text
    header = text[: max(0, found.start() - len(before))]
    return "" if delimiters.scan(header, language).opened else header


def _balance(text: str, language: str) -> tuple[int, int]:
    known = language_named(language)
    opened = ended = 0
    if known.layout.bodies in _COUNTED:
        for line in lines.split(text):
            opens, ends = opens_and_ends(without_comment(line, known), known)
            ended += ends and not opened
            opened = max(opened - ends, 0) + opens
    return opened, ended


def opens_and_ends(code: str, known: Language) -> tuple[bool, bool]:
    """Return whether a line of code opens a body at its end, and whether it ends one at its start; `else` does both."""
    code = code.strip()
    ends = known.layout.ends
    return known.layout.opens.search(code) is not None, ends is not None and ends.match(code) is not None


def without_comment(line: str, known: Language) -> str:
    """Return `line` up to its trailing comment. Only lines that open a body before the comment have to be right."""
    for mark in delimiters.comment_marks(known.id):
        code = line.partition(f" {mark}")[0].rstrip()
        if known.layout.opens.search(code):
            return code
    return line
