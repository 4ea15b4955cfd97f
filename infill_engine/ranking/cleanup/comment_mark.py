"""A text that ends in a comment mark would hide the rest of the line."""

from infill_engine.text.delimiters import comment_marks, scan
from infill_engine.text.lines import last_line
from infill_engine.types import Hole, InfillRequest


def comment_mark(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """Drop a text that ends in an empty comment."""
    marks = comment_marks(request.language)
    ending = text.rstrip(" \t")
    mark = max((mark for mark in marks if ending.endswith(mark)), key=len, default="")
    if not mark:
        return text
    line = last_line(request.prefix + ending)
    before = line[: len(line) - len(mark)]
    return text if scan(before, request.language).inside else None
