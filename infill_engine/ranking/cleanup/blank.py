"""Blank text is not a suggestion."""

from infill_engine.types import Hole, InfillRequest


def blank(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """Drop a text without a visible character."""
    return text if text.strip() else None
