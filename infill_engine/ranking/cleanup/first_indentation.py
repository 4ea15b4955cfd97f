"""A body that begins at column 0 is indented as the file is, or else as the editor, the project or the language is."""

from infill_engine.context.bodies import header_indent
from infill_engine.text import delimiters, indents, lines
from infill_engine.text.languages import Bodies
from infill_engine.text.languages import language as language_named
from infill_engine.types import Hole, HoleKind, InfillRequest

_INDENTED = frozenset({Bodies.BRACES, Bodies.INDENTATION, Bodies.WORDS})


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
