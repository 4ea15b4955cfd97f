"""Brackets, quotes and comments from the text alone: fast, without a grammar, and robust to broken code."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from infill_engine.text.languages import language as language_named
from infill_engine.text.languages.forms import Escapes, Form

PAIRS = {"(": ")", "[": "]", "{": "}"}
CLOSING = frozenset(PAIRS.values())
QUOTES = frozenset({'"', "'", "`", '"""', "'''"})  # of all languages; `is_quote` knows those of one

_BRACKETS = r"[()\[\]{}]"


@dataclass(frozen=True, slots=True)
class Scan:
    """The brackets, quotes and comments that a text leaves open or closes.

    `opened` are the brackets still open at its end, outermost first. `closed` are the closing brackets that match
    something before the text, in order. `inside` is the mark of the quote or comment around its end, or "".
    """

    opened: str = ""
    closed: str = ""
    inside: str = ""


@lru_cache(maxsize=256)
def scan(text: str, language: str) -> Scan:
    """Scan `text`, which must begin in code and not in a string or a comment."""
    marks, forms = _marks(language)
    opened: list[str] = []
    closed: list[str] = []
    restarted = False
    position = 0
    heredoc: tuple[int, str, Form, str] | None = None  # the end of its line, its mark, its form, its closing text
    while True:
        found = marks.search(text, position)
        if heredoc is not None and (found is None or found.start() >= heredoc[0]):
            begins, mark, form, closing = heredoc
            position, heredoc = form.end(closing, text, begins), None
            if position < 0:
                return Scan("".join(opened), "".join(closed), mark)
            continue
        if found is None:
            break
        mark, kind, position = found.group(), found.lastgroup, found.end()
        if mark in PAIRS:
            opened.append(mark)
        elif mark in CLOSING:
            if not _close(opened, mark) and not restarted:
                closed.append(mark)
        elif kind == "restart":
            opened.clear()
            restarted = True
        elif kind != "whole":
            form = forms[kind or mark]
            begun = form.open.match(text, found.start())
            closing = form.closing(begun) if begun is not None else form.close
            if form.heredoc:
                line_end = text.find("\n", position)
                heredoc = (line_end, mark, form, closing) if line_end >= 0 else heredoc
                continue
            position = form.end(closing, text, position)
            if position < 0:
                return Scan("".join(opened), "".join(closed), mark)
    return Scan("".join(opened), "".join(closed), "")


def scan_after(before: str, text: str, language: str) -> Scan:
    """Scan `before + text`. For several texts, the lines of `before` above its last one are scanned once."""
    head, line_break, line = before.rpartition("\n")
    above = scan(head + line_break, language)
    if above.inside or language_named(language).lexical.restart:
        return scan(before + text, language)
    rest = scan(line + text, language)
    opened = list(above.opened)
    unmatched = [mark for mark in rest.closed if not _close(opened, mark)]
    return Scan("".join(opened) + rest.opened, above.closed + "".join(unmatched), rest.inside)


def unclosed(opened: str, closed: str) -> str:
    """Return the brackets of `opened` (outermost first) that `closed` leaves open, innermost first.

    Either side may have been cut off by its window, so this looks for the best fit: all the remaining brackets are
    closed if possible, otherwise as many of them as are visible.
    """
    inward = opened[::-1]
    partly: str | None = None
    for count in range(len(inward)):
        rest = inward[count:]
        if not closed or any(PAIRS[left] != right for left, right in zip(rest, closed, strict=False)):
            continue
        if len(closed) >= len(rest):
            return inward[:count]
        if partly is None:
            partly = inward[:count]
    return inward if partly is None else partly


def string_end(text: str, quote: str, language: str = "") -> int:
    """Return the offset past the end of the string that `quote` opened before `text`; -1 if it does not end."""
    form, closing = _opened_by(quote, language)
    return form.end(closing, text, 0) if closing in text or form.heredoc else -1


def closing_of(mark: str, language: str) -> str:
    """Return the text that closes what `mark` opens; "" for a line comment or a heredoc."""
    form, closing = _opened_by(mark, language)
    return "" if form.heredoc else closing


def is_quote(mark: str, language: str) -> bool:
    """Return whether `mark`, as returned by `scan`, opens a string."""
    return bool(mark) and not _opened_by(mark, language)[0].comment


def quotes(language: str) -> Iterator[str]:
    """Yield the quotes that are the same at both ends of a string, longest first."""
    marks = (form.close for form in language_named(language).lexical.forms if not form.comment)
    return iter(sorted({mark for mark in marks if _is_plain(mark)}, key=lambda mark: (-len(mark), mark)))


def is_comment(text: str, language: str) -> bool:
    """Return whether `text` starts with a comment."""
    return text.lstrip().startswith(comment_marks(language))


def comment_marks(language: str) -> tuple[str, ...]:
    """Return the marks that begin a comment line."""
    return language_named(language).lexical.comment_marks


def _is_plain(mark: str) -> bool:
    return bool(mark) and set(mark) <= {'"', "'", "`"}


def _close(opened: list[str], mark: str) -> bool:
    """Close the innermost bracket that `mark` fits, and the unclosed ones inside it."""
    for depth in range(len(opened) - 1, -1, -1):
        if PAIRS[opened[depth]] == mark:
            del opened[depth:]
            return True
    return False


@lru_cache(maxsize=256)
def _opened_by(mark: str, language: str) -> tuple[Form, str]:
    """Return the form that `mark` opens, and its closing text. A quote of another language closes like a plain
    string."""
    for form in language_named(language).lexical.forms:
        begun = form.open.fullmatch(mark)
        if begun is not None:
            return form, form.closing(begun)
    return Form.plain(mark, mark, Escapes.BACKSLASH, multiline=len(mark) == 3 or mark == "`"), mark


@lru_cache(maxsize=64)
def _marks(language: str) -> tuple[re.Pattern[str], dict[str, Form]]:
    """Return one pattern for all delimiters, and their forms by the literal mark or group name that matches.

    Groups make the search three times slower, so only parts that need a group have one.
    """
    lexical = language_named(language).lexical
    parts = [f"(?P<whole>{lexical.whole.pattern})"] if lexical.whole else []
    forms = {}
    for number, form in enumerate(lexical.forms):
        forms[form.literal or f"form{number}"] = form
        parts.append(re.escape(form.literal) if form.literal else f"(?P<form{number}>{form.open.pattern})")
    parts.append(_BRACKETS)
    if lexical.restart:
        parts.append(f"(?P<restart>{lexical.restart.pattern})")
    return re.compile("|".join(parts), re.MULTILINE), forms
