"""The indentation of a body that begins at column 0, and of the lines of a block."""

import re

from infill_engine.context.missing_bodies import header_indent
from infill_engine.text import delimiters, indents, lines
from infill_engine.text.languages import Bodies, Language
from infill_engine.text.languages import language as language_named
from infill_engine.types import Hole, HoleKind, InfillRequest

_INDENTED = frozenset({Bodies.BRACES, Bodies.INDENTATION, Bodies.WORDS})
_ENCLOSED = frozenset({Bodies.BRACES, Bodies.WORDS, Bodies.TAGS})  # bodies with a closing mark
_FREE = frozenset({Bodies.NONE, Bodies.VALUE})  # a line may be indented deeper for reasons of its own
_LEADING_MARK = re.compile(r"[.?:]|&&|\|\||\+|->|=>|<<")
_CLOSER = re.compile(r"[)\]}]")


def first_indentation(text: str, request: InfillRequest, hole: Hole) -> str | None:
    """Re-indent a body that a line above opens, if nothing is left of the cursor. Cut what is indented less."""
    layout = language_named(request.language).layout
    if hole.kind is not HoleKind.BLOCK or layout.bodies not in _INDENTED or lines.last_line(request.prefix):
        return text
    usual = request.indent or layout.indent
    unit = indents.shown_in(request.prefix + request.suffix) or usual
    own = indents.shown_in(text) or usual
    first, *rest = text.split("\n")
    outer, base = header_indent(request.prefix, request.language) + unit, lines.indent_of(first)
    moved = [outer + first.removeprefix(base)]
    if not base and not delimiters.scan(first, request.language).opened and all(_starts(row, own) for row in rest):
        base = own  # only the first line was written without it
    for row in rest:
        if not _starts(row, base):
            break
        moved.append(outer + indents.in_units(row.removeprefix(base), own, unit) if row.strip() else "")
    return "\n".join(moved)


def _starts(row: str, indent: str) -> bool:
    return not row.strip() or row.startswith(indent)


def indentation(text: str, request: InfillRequest, hole: Hole) -> str | None:
    """Re-indent lines that are off by the same amount; cut before the first line that is indented less."""
    first, *rest = text.split("\n")
    if not rest:
        return text
    known = language_named(request.language)
    left = lines.last_line(request.prefix)
    # On a blank line, the text may contain the indentation or the rest of it.
    indent = hole.indent if left.strip() else left + lines.indent_of(first)
    goes_on = _goes_on(first, known)
    rest = _in_units_of_file(rest, indent, goes_on, request, known)
    if _is_relative(rest, indent, goes_on, known):
        rest = [indent + row if row.strip() else row for row in rest]
    rest = [_moved(row, rest, first, indent, goes_on, known) for row in rest]
    end = next((i for i, row in enumerate(rest) if row.strip() and not row.startswith(indent)), len(rest))
    return "\n".join([first, *rest[:end]])


def _goes_on(first: str, known: Language) -> bool:
    """Return whether the line below `first` may be indented deeper."""
    layout = known.layout
    by_end = layout.continues.search(first) or layout.opens.search(first.rstrip())
    return bool(by_end or delimiters.scan(first, known.id).opened)


def _in_units_of_file(
    rest: list[str], indent: str, goes_on: bool, request: InfillRequest, known: Language
) -> list[str]:
    """Return the rows indented with tabs if the hole is, or with spaces if it is."""
    blanks = [one for one in (request.indent, known.layout.indent) if one.isspace() and "\t" not in one]
    usual = len(blanks[0]) if blanks else 4
    if "\t" in indent:
        level = indent.count("\t") + goes_on
        unit = " " * indents.unit_of_rows(rest, level, usual)
        return [indents.in_units(row, unit, "\t") for row in rest]
    if indent and any("\t" in lines.indent_of(row) for row in rest):
        unit = " " * indents.unit_of(request.prefix, usual)
        return [indents.in_units(row, "\t", unit) for row in rest]
    return rest


def _is_relative(rest: list[str], indent: str, goes_on: bool, known: Language) -> bool:
    """Return whether the rows were written as if the cursor were at column 0.

    This holds if a body that `first` opens begins or ends at column 0.
    """
    if not indent or known.layout.bodies not in _ENCLOSED:
        return False
    outermost = next((row for row in rest if row.strip() and not row[0].isspace()), "")
    if not goes_on:
        return outermost.startswith("{")
    ends = known.layout.ends
    return bool(_CLOSER.match(outermost) or (ends is not None and ends.match(outermost)))


def _moved(row: str, rest: list[str], first: str, indent: str, goes_on: bool, known: Language) -> str:
    base = _base(rest)
    if base == indent or not row.strip():
        return row
    if base.startswith(indent) and not goes_on and not _leads_on(row, known):
        # It is deeper although nothing was opened, so all of it belongs at the hole's indentation.
        return indent + row[len(base) :] if row.startswith(base) else row
    leaves, top_level = known.layout.leaves, known.layout.top_level
    if not base and not leaves.match(first.lstrip()) and not any(top_level.match(other) for other in rest):
        # Nothing is indented, so the block was written relative to the cursor.
        return indent + row
    return row


def _leads_on(row: str, known: Language) -> bool:
    """Return whether the row continues the one above it, or may have any indentation."""
    if known.layout.bodies in _FREE:
        return True
    mark = _LEADING_MARK.match(row.lstrip())
    return mark is not None and (known.layout.bodies in _ENCLOSED or mark.group() == ".")


def _base(rest: list[str]) -> str:
    """Return the indentation of the first nonblank line below the cursor's."""
    return next((lines.indent_of(row) for row in rest if row.strip()), "")
