"""A line that only repeats the line above or below is not a suggestion."""

from infill_engine.text import lines
from infill_engine.types import Hole, InfillRequest

LEAST_SIGNIFICANT = 4  # letters and digits; shorter lines, such as closing brackets, may repeat


def neighbours(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """Drop a text if it makes the cursor's line, or all its own lines, equal to the lines above or below."""
    left, right = lines.last_line(request.prefix), lines.first_line(request.suffix)
    if right.strip() or sum(map(str.isalnum, text)) < LEAST_SIGNIFICANT:
        return text
    made = [row.strip() for row in (left + text).split("\n") if row.strip()]
    if not made:
        return text
    above = [row.strip() for row in lines.split(request.prefix)[:-1]]
    below = [row.strip() for row in lines.split(request.suffix)[1:]]
    if not left.strip():
        above, below = [row for row in above if row], [row for row in below if row]
    return None if made in (above[-len(made) :], below[: len(made)]) else text
