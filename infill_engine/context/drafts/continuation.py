"""The text around a hole, how much of the text at a similar place fits into it, and the vote of all such places."""

import re
from dataclasses import dataclass

from infill_engine.text import lines
from infill_engine.types import Hole, HoleKind

LINES_ABOVE = 3  # lines examined besides the hole's own
LOOKED_ABOVE = 600  # characters, for those lines
LOOKED_BELOW = 300  # characters, for the next nonblank line
LINE_CHARS = 200  # lines taken for each line that a hole may have

TOKEN = re.compile(r"\w+|[^\w\s]")
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Around:
    """The text next to a hole, without indentation and blank lines.

    `left` and `right` are the parts of its own line; `above` are the lines above it, nearest first; `below` is the next
    line. `indent_above` is the indentation of the nearest line above.
    """

    left: str
    right: str
    above: tuple[str, ...]
    below: str
    indent_above: str


class Votes:
    """A vote on the hole's text: each similar place votes for the text that follows it.

    Texts that differ only in whitespace count as one; the first of them represents all.
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._matched: dict[str, int] = {}
        self._votes: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._texts)

    def vote(self, text: str, matched: int, weight: float) -> None:
        """Add a vote, from a place that matches `matched` characters. Votes for blank texts are ignored."""
        key = _SPACES.sub(" ", text.strip())
        if key:
            self._texts.setdefault(key, text)
            self._matched[key] = max(self._matched.get(key, 0), matched)
            self._votes[key] = self._votes.get(key, 0.0) + weight

    def best(self, limit: int) -> list[tuple[str, int, float]]:
        """Return the texts with the most votes, best first, each with its matched characters and its share of all
        votes."""
        total = sum(self._votes.values())
        best = sorted(self._votes, key=lambda key: -self._votes[key])[:limit]
        return [(self._texts[key], self._matched[key], self._votes[key] / total) for key in best]


def around_hole(prefix: str, suffix: str) -> Around:
    """Return the text around the hole; `left` keeps its trailing space, which borders the hole."""
    left, right = lines.last_line(prefix), lines.first_line(suffix)
    above = _lines_above(prefix, len(prefix) - len(left))
    return Around(
        left.lstrip(),
        right.strip(),
        tuple(line.strip() for line in above),
        next_line(suffix, len(right)),
        lines.indent_of(above[0]) if above else "",
    )


def _lines_above(text: str, end: int) -> list[str]:
    """Return the last lines before `end` that are not blank, nearest first."""
    above = reversed(lines.split(text[max(0, end - LOOKED_ABOVE) : end]))
    return [line for line in above if line.strip()][:LINES_ABOVE]


def next_line(text: str, start: int) -> str:
    """Return the first line after `start` that is not blank, stripped."""
    for line in lines.split(text[start : start + LOOKED_BELOW])[1:]:
        if line.strip():
            return line.strip()
    return ""


def continuation(source: str, at: int, around: Around, hole: Hole) -> tuple[str, bool]:
    """Return the text from `source[at]` that fits into the hole, and whether the text after it matches too.

    Takes nothing from a line with more than LINE_CHARS to come, because nobody writes such lines by hand. On an empty
    line, the text begins with the indentation that it needs.
    """
    end = lines.LINE_END.search(source, at, at + LINE_CHARS + 1)
    if end is None and at + LINE_CHARS < len(source) and (around.right or hole.max_lines == 1):
        return "", False
    line_end = len(source) if end is None else end.start()
    rest = source[at:line_end].rstrip()
    if around.right and (hole.kind is not HoleKind.LINE or hole.closers):
        stop, agrees = _stop(rest, around.right)
        return (rest[:stop].rstrip() if stop > 0 else ""), agrees
    missing = _missing_indent(source, at, around, hole)
    if hole.max_lines == 1:
        return missing + rest if rest else "", bool(around.below) and next_line(source, line_end) == around.below
    return _block(source, at, missing, hole), False


def most_looked_at(hole: Hole) -> int:
    """Return the most characters that `continuation` reads from `at` on, unless a line is long."""
    return LINE_CHARS * hole.max_lines + LOOKED_BELOW


def _stop(rest: str, right: str) -> tuple[int, bool]:
    """Return where in `rest` the text right of the hole begins to match (-1: nowhere), and whether all of it
    matches."""
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


def _missing_indent(source: str, at: int, around: Around, hole: Hole) -> str:
    """Return the indentation for a text on an empty line: relative to the line above, it is that of `source[at]`."""
    if around.left or around.right or hole.indent:
        return ""
    start = lines.start_of(source, at)
    above = lines.indent_of(next(iter(_lines_above(source, start)), ""))
    own = lines.indent_of(source[start:at])
    if own.startswith(above):
        return around.indent_above + own[len(above) :]
    return around.indent_above[: max(0, len(around.indent_above) + len(own) - len(above))]


def _block(source: str, at: int, missing: str, hole: Hole) -> str:
    """Return the lines from `source[at]` that are indented at least as deep, re-indented for the hole.

    `missing` is the indentation that the first line needs at the cursor.
    """
    indent = lines.indent_of(source[lines.start_of(source, at) : at])
    taken: list[str] = []
    for line in lines.split(source[at : at + LINE_CHARS * hole.max_lines])[: hole.max_lines]:
        if taken and line.strip() and not line.startswith(indent):
            break
        taken.append((missing + (hole.indent + line[len(indent) :] if taken else line)).rstrip())
    while taken and not taken[-1].strip():
        taken.pop()
    return "\n".join(taken)
