"""Line ends: LF, whatever the document has. Editors hold LF or put their document's in its place; some show a CR."""

from infill_engine.text.lines import with_plain_ends
from infill_engine.types import Hole, InfillRequest


def plain_line_ends(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """CRLF and lone CR become LF."""
    return with_plain_ends(text)
