"""Line ends: LF while the rules run, those of the document when they are done."""

from infill_engine import lines
from infill_engine.types import Hole, InfillRequest


def plain_line_ends(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """CRLF and lone CR become LF."""
    return lines.LINE_END.sub("\n", text)


def document_line_ends(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """LF becomes the document's line end, as the suffix or else the prefix shows it."""
    return text.replace("\n", lines.line_end_of(request.suffix, request.prefix)) if "\n" in text else text
