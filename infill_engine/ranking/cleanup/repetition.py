"""Degenerate text: one piece repeated over and over."""

import re

from infill_engine.types import Hole, InfillRequest

LEAST_TIMES = 4
LEAST_TIMES_IN_LIST = 6  # `None, None, None, None` is common enough
LEAST_LETTERS = 9  # equal letters in a row; `#ffffff` is a colour
LEAST_SHARE = 0.6  # share of the text from which it counts as mere repetition

_RUN = re.compile(rf"(\S(?:[^\n]{{0,22}}?\S)??)(?:\s*\1){{{LEAST_TIMES - 1},}}")
# Lines drawn in comments repeat intentionally, and `balance` has already removed closing brackets that are not needed.
_REPEATABLE = frozenset("-=*#~_.+/ \"')]}")
_MOST_SAME_LINES = 2


def repetition(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """Drop a text that mostly repeats one piece, or one line."""
    rows = [row.strip() for row in text.split("\n") if row.strip()]
    for row in set(rows):
        if sum(map(str.isalnum, row)) > 1 and rows.count(row) > _MOST_SAME_LINES:
            return None
    size = len(text.strip())
    for run in _RUN.finditer(text):
        piece = run.group(1)
        if len(run.group()) >= LEAST_SHARE * size and not _is_meant(piece, run.group()):
            return None
    return text


def _is_meant(piece: str, run: str) -> bool:
    """Return whether people write such runs: a drawn line, equal numbers, a short list, a repeated letter."""
    if set(piece) <= _REPEATABLE:
        return True
    if any(map(str.isdigit, piece)) and not any(map(str.isalpha, piece)):
        return True
    if "," in piece:
        return run.count(piece) < LEAST_TIMES_IN_LIST
    return len(piece) == 1 and piece.isalpha() and " " not in run and len(run) < LEAST_LETTERS
