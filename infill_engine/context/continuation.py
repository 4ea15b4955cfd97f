"""What stands around a hole, and how much of what follows a place elsewhere would fit into it."""

import re
from dataclasses import dataclass

from infill_engine.text import lines
from infill_engine.types import Hole, HoleKind

LINES_ABOVE = 3  # looked at beyond the hole's own line
LOOKED_ABOVE = 600  # characters, for those lines
LOOKED_BELOW = 300  # characters, for the next line that is not blank
LINE_CHARS = 200  # taken for each line that a hole may have

TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Around:
    """What stands next to a hole, indentation and blank lines aside.

    `left` and `right` are the parts of its own line; `above` are the lines above it, nearest first, `below` the next.
    """

    left: str
    right: str
    above: tuple[str, ...]
    below: str


def around_hole(prefix: str, suffix: str) -> Around:
    """What stands next to the hole between two texts; `left` keeps the blanks at its end, which are the hole's edge."""
    right = lines.first_line(suffix)
    above = _lines_above(prefix)
    return Around(lines.last_line(prefix).lstrip(), right.strip(), above, next_line(suffix, len(right)))


def _lines_above(prefix: str) -> tuple[str, ...]:
    whole = prefix[: len(prefix) - len(lines.last_line(prefix))]
    stripped = (line.strip() for line in reversed(lines.split(whole[-LOOKED_ABOVE:])))
    return tuple(line for line in stripped if line)[:LINES_ABOVE]


def next_line(text: str, start: int) -> str:
    """The first line after `start` that is not blank, stripped."""
    for line in lines.split(text[start : start + LOOKED_BELOW])[1:]:
        if line.strip():
            return line.strip()
    return ""


def continuation(source: str, at: int, around: Around, hole: Hole) -> tuple[str, bool]:
    """What follows `source[at]` as far as it fits into the hole, and whether the text then goes on as around that.

    Nothing of a line that has more than LINE_CHARS to come: nobody wrote it by hand.
    """
    end = lines.LINE_END.search(source, at, at + LINE_CHARS + 1)
    if end is None and at + LINE_CHARS < len(source) and (around.right or hole.max_lines == 1):
        return "", False
    line_end = len(source) if end is None else end.start()
    rest = source[at:line_end].rstrip()
    if around.right and (hole.kind is not HoleKind.LINE or hole.closers):
        stop, agrees = _stop(rest, around.right)
        return (rest[:stop].rstrip() if stop > 0 else ""), agrees
    if hole.max_lines == 1:
        return rest, bool(around.below) and next_line(source, line_end) == around.below
    return _block(source, at, hole), False


def most_looked_at(hole: Hole) -> int:
    """How many characters from `at` on `continuation` looks at, long lines aside."""
    return LINE_CHARS * hole.max_lines + LOOKED_BELOW


def _stop(rest: str, right: str) -> tuple[int, bool]:
    """Where in `rest` the text right of the hole begins to match, or -1; and whether all of it does."""
    if rest.endswith(right):
        return len(rest) - len(right), True
    first = TOKEN.match(right)
    if first is None:
        return -1, False
    depth = 0
    for token in TOKEN.finditer(rest):
        mark = token.group()
        if depth == 0 and mark == first.group():
            return token.start(), False
        if mark in "([{":
            depth += 1
        elif mark in ")]}":
            depth -= 1
            if depth < 0:
                break
    return -1, False


def _block(source: str, at: int, hole: Hole) -> str:
    """The lines from `source[at]` on that are no less indented than its own, with the hole's indentation instead."""
    indent = lines.indent_of(source[lines.start_of(source, at) : at])
    taken: list[str] = []
    for line in lines.split(source[at : at + LINE_CHARS * hole.max_lines])[: hole.max_lines]:
        if taken and line.strip() and not line.startswith(indent):
            break
        taken.append(line.rstrip() if not taken else (hole.indent + line[len(indent) :]).rstrip())
    while taken and not taken[-1].strip():
        taken.pop()
    return "\n".join(taken)
