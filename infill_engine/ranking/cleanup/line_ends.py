"""Line ends are LF, whatever the document uses. Editors keep LF or convert it; some would display a CR."""

from infill_engine.text.lines import with_plain_ends
from infill_engine.types import Hole, InfillRequest


def plain_line_ends(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """Convert CRLF and lone CR to LF."""
    return with_plain_ends(text)
