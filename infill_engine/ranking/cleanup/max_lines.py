"""A text has no more lines than the hole allows."""

from infill_engine.types import Hole, InfillRequest


def max_lines(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """Cut the text after `hole.max_lines` lines."""
    return "\n".join(text.split("\n", hole.max_lines)[: hole.max_lines])
