"""Text that says again what is there: one piece over and over, the next line, a conversion that was made already."""

import re

from infill_engine.text import lines
from infill_engine.text.languages import language as language_named
from infill_engine.types import Hole, InfillRequest, Surroundings

LEAST_TIMES = 4
LEAST_TIMES_IN_LIST = 6  # `None, None, None, None` is common enough
LEAST_LETTERS = 9  # equal letters in a row; `#ffffff` is a colour
LEAST_SHARE = 0.6  # share of the text from which it counts as mere repetition

_RUN = re.compile(rf"(\S(?:[^\n]{{0,22}}?\S)??)(?:\s*\1){{{LEAST_TIMES - 1},}}")
# Lines drawn in comments repeat intentionally, and `balance` has already removed closing brackets that are not needed.
_REPEATABLE = frozenset("-=*#~_.+/ \"')]}")
_MOST_SAME_LINES = 2
LEAST_SIGNIFICANT = 4  # letters and digits; shorter lines, such as closing brackets, may repeat
CALLS_LOOKED_AT = 300  # characters left of the cursor
_TWICE = re.compile(
    r"\.(?P<call>(?:(?i:to|as|sort|trim|strip|distinct|uniq|unique|collect|flatten|upper|lower)\w*)\(\))\s*\??\.(?P=call)"
)


def repetition(text: str, request: Surroundings, hole: Hole) -> str | None:  # noqa: ARG001
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


def conversions(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """Drop a text that converts the result of the call before it into the same kind."""
    left, code = request.prefix[-CALLS_LOOKED_AT:], language_named(request.language).code
    for pattern in (_TWICE, code.converted):
        for found in pattern.finditer(left + text) if pattern is not None else ():
            if found.end() > len(left):
                return None
    return text
