"""Text on a blank line begins at the cursor, not below it."""

from infill_engine.text import lines
from infill_engine.types import Hole, InfillRequest


def leading_blank(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """On a blank line, drop leading blank lines, and then the indentation that is already left of the cursor."""
    left = lines.last_line(request.prefix)
    if left.strip():
        return text
    rows = text.split("\n")
    first = next((index for index, row in enumerate(rows) if row.strip()), None)
    if first is None:
        return text
    rows = rows[first:]
    if left and rows[0].startswith(left):
        rows[0] = rows[0][len(left) :]
    return "\n".join(rows)
