"""A token sequence that ends inside a character, or contains a control character, is not text."""

import re

from infill_engine.types import Hole, InfillRequest

# Everything up to the first invalid character: a control character other than tab, line end and form feed, a lone
# surrogate, or the replacement character, which marks truncated bytes.
_TEXT = re.compile("[^\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff\ufffd]*")


def undecodable(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """Cut the text before the first invalid character."""
    kept = _TEXT.match(text)
    return kept.group() if kept is not None else None
