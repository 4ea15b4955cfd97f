"""Tells whether a blank line lies among values or statements, and whether a body is missing there."""

import re
from collections.abc import Sequence
from functools import lru_cache

from tree_sitter import Node

from infill_engine.text import delimiters, lines
from infill_engine.text.bodies import opens_and_ends, without_comment
from infill_engine.text.languages import Bodies, Braces, Language
from infill_engine.text.languages import language as language_named

HEADER_LINES = 12  # of a signature whose brackets are searched
_NEVER = re.compile(r"(?!)")


def among_values(prefix: str, language: str, around: Sequence[Node]) -> bool:
    """Return whether a blank line is inside brackets that contain values rather than statements.

    `around` are the nodes around the cursor, smallest first.
    """
    known = language_named(language)
    layout = known.layout
    if layout.bodies is Bodies.VALUE:
        return True
    opened = delimiters.scan(prefix, language).opened
    if not opened or (layout.bodies is Bodies.WORDS and _in_body_of_words(prefix, opened[-1], known)):
        return False
    if opened[-1] != "{" or layout.braces is Braces.VALUES:
        return True
    if layout.braces is Braces.BODIES:
        return False
    for node in around:
        if node.is_error:
            break
        if node.type in known.nodes.bodies:
            return False
        if node.type in known.nodes.values:
            return True
    return not _opens_body(_opening_line(prefix, language), known)


def body_missing(prefix: str, suffix: str, language: str) -> bool:
    """Return whether the blank line should begin the body of the code above it."""
    known = language_named(language)
    header = _last_code_line(prefix, known)
    if not header:
        return False
    after = next(
        (line for line in lines.split(suffix)[1:] if line.strip() and not delimiters.is_comment(line, language)), ""
    )
    header_column, after_column = _column(header), _column(after)
    if after and after_column > header_column:
        return False
    if known.layout.opens.search(header):
        return True
    ends = known.layout.ends
    by_end = known.layout.bodies is Bodies.WORDS and ends is not None and ends.match(after.strip()) is not None
    return by_end and after_column == header_column


def header_indent(prefix: str, language: str) -> str:
    """Return the indentation of the code that ends in the last line of code above the cursor.

    If that line closes brackets, the code begins where they are opened.
    """
    above = prefix[: len(prefix) - len(lines.last_line(prefix))].rstrip()
    rows = lines.split(above)
    last = _last_code_line(prefix, language_named(language))
    end = next((row for row in range(len(rows) - 1, -1, -1) if rows[row].startswith(last)), len(rows) - 1)
    start = end
    while (
        start > 0 and end - start < HEADER_LINES and delimiters.scan("\n".join(rows[start : end + 1]), language).closed
    ):
        start -= 1
    return lines.indent_of(rows[start])


def _in_body_of_words(prefix: str, bracket: str, known: Language) -> bool:
    """Return whether a body that words delimit has begun inside the bracket that is open at the end of `prefix`."""
    bodies = 0
    for line in reversed(lines.split(prefix)[:-1]):
        opens, ends = opens_and_ends(without_comment(line, known), known)
        bodies += opens
        if bodies > 0:
            return True
        bodies -= ends
        if bracket in delimiters.scan(line, known.id).opened:
            return False
    return False


def _opening_line(prefix: str, language: str) -> str:
    """Scan backwards; return the line's text up to the brace that is open at the end of `prefix`."""
    depth = 0
    for line in reversed(lines.split(prefix)):
        read = delimiters.scan(line, language)
        if "{" in read.opened and depth == 0:
            return line.rstrip()
        depth += read.closed.count("}") - read.opened.count("{")
        depth = max(depth, 0)
    return ""


def _opens_body(line: str, known: Language) -> bool:
    """Return whether the brace at the end of `line` opens statements. It does unless it looks like a value."""
    body_brace, header = _brace_patterns(known)
    if body_brace.search(line) or header.match(line):
        return True
    return not known.layout.value_brace.search(line)


@lru_cache(maxsize=64)
def _brace_patterns(known: Language) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns for the text before a brace with statements, and for the start of a line that ends in one."""
    brace = "".join(rf"|\b{word}" for word in known.layout.brace_words)
    header = "|".join(known.layout.header_words)
    return (
        re.compile(rf"(?:\)|=>|->{brace})\s*\{{$"),
        re.compile(rf"^\s*(?:[\w@]+\s+)*?(?:{header})\b") if header else _NEVER,
    )


def _column(line: str) -> int:
    return len(lines.indent_of(line).expandtabs(8))


def _last_code_line(prefix: str, known: Language) -> str:
    """Return the last line of code above the cursor, without docstrings and its trailing comment."""
    above = prefix[: len(prefix) - len(lines.last_line(prefix))]
    while above:
        above = above.rstrip()
        line = lines.last_line(above)
        above_line = above[: len(above) - len(line)]
        if known.layout.documents and (started := _docstring_start(above)) is not None:
            above = above[:started]
        elif line.strip() and not delimiters.is_comment(line, known.id):
            return without_comment(line, known).rstrip()
        else:
            above = above_line
    return ""


def _docstring_start(above: str) -> int | None:
    """Return the start of the line that opens the docstring at the end of `above`; None if there is no docstring."""
    quote = above[-3:]
    if quote not in ('"""', "'''"):
        return None
    opening = above.rfind(quote, 0, len(above) - 3)
    if opening < 0:
        return None
    before = lines.last_line(above[:opening])
    return opening - len(before) if not before.strip(" \trRuU") else None
