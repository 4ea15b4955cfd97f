"""Lines have no trailing whitespace, and the text has no blank lines at its end."""

from infill_engine.text import lines
from infill_engine.text.languages import language as language_named
from infill_engine.types import Hole, InfillRequest

HARD_BREAK = "  "  # two spaces at the end of a line of prose are a line break in Markdown


def trailing_blank(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """Strip whitespace at line ends, and at the end unless it separates the text from what follows."""
    hard_breaks = language_named(request.language).layout.hard_breaks
    *above, last = text.split("\n")
    text = "\n".join([*(_stripped(row, hard_breaks) for row in above), last])
    right, *below = lines.split(request.suffix)
    if not right.strip():
        return _stripped(text, hard_breaks and bool(below) and bool(below[0].strip()))
    return text.rstrip() if right[0].isspace() or right[0] in ")]},;:" else text


def _stripped(row: str, hard_breaks: bool) -> str:
    stripped = row.rstrip()
    return stripped + HARD_BREAK if hard_breaks and stripped and row.endswith(HARD_BREAK) else stripped
