"""A token sequence that ends amid a character, or holds a control character, is not text."""

import re

from infill_engine.types import Hole, InfillRequest

# Everything up to the first character that no source text means: controls but tab, line ends and form feed, lone
# surrogates, and the replacement character that stands for bytes cut in two.
_TEXT = re.compile("[^\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff\ufffd]*")


def undecodable(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """Cut the text before the first character that cannot be meant."""
    kept = _TEXT.match(text)
    return kept.group() if kept is not None else None
