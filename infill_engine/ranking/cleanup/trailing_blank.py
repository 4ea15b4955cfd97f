"""No blanks at the end of a line, no blank lines at the end of the text."""

from infill_engine.text import lines
from infill_engine.types import Hole, InfillRequest


def trailing_blank(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """Strip blanks before line ends, and at the end unless they keep the text apart from what follows."""
    *above, last = text.split("\n")
    text = "\n".join([*(row.rstrip() for row in above), last])
    right = lines.first_line(request.suffix)
    if not right.strip() or right[0].isspace() or right[0] in ")]},;:":
        return text.rstrip()
    return text
