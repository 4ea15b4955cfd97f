"""Where people stop typing, and what the text looks like there: in words, after brackets, in new lines, mistyped."""

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from train.corpus.holes import Span

CLOSED = 0.5  # share of the open brackets that the editor has closed, with nothing behind them yet
BRACKETS = {"(": ")", "[": "]", "{": "}"}
LINES = 2  # before the cursor, in which a word may be mistyped
_WORD = re.compile(r"[A-Za-z]{4,}")


class Place(StrEnum):
    """Where a cursor is."""

    WORD = "in a word"
    BRACKET = "after a bracket"
    LINE = "in a new line"
    OTHER = "elsewhere"


SHARES = {Place.WORD: 0.25, Place.BRACKET: 0.2, Place.LINE: 0.4, Place.OTHER: 0.15}
BLOCK, MISTYPED = "of several lines", "after a mistyped word"  # further kinds


@dataclass(frozen=True, slots=True)
class Typed:
    """A hole: the text before the cursor, what is missing, and the text right of it, all of a window.

    `start` is the cursor's place in the window, and `kind` a place or a further kind.
    """

    start: int
    before: str
    text: str
    after: str
    kind: str


def typed(window: str, spans: Sequence[Span], mistyped: float, rng: random.Random) -> Iterator[Typed]:
    """Yield holes of a window in random order, with places in their shares as far as there are any.

    `mistyped` is the share of holes with a mistyped word before them.
    """
    by_place: dict[Place, list[Span]] = defaultdict(list)
    for span in rng.sample(spans, len(spans)):
        by_place[_place(window, span.start)].append(span)
    while left := [place for place in SHARES if by_place[place]]:
        (place,) = rng.choices(left, [SHARES[each] for each in left])
        span = by_place[place].pop()
        end, after = span.end, window[span.end :]
        if place is Place.BRACKET and rng.random() < CLOSED:
            end, after = _closed(window, span) or (end, after)
        text, before = window[span.start : end], window[: span.start]
        kind = BLOCK if "\n" in text else str(place)
        if rng.random() < mistyped and (wrong := mistype(before, rng)) != before:
            before, kind = wrong, MISTYPED
        if text.strip():
            yield Typed(span.start, before, text, after, kind)


def mistype(before: str, rng: random.Random) -> str:
    """Return a text with a letter of a word in its last lines swapped, lost or doubled, but not of one at its end."""
    first = len(before) - sum(len(line) + 1 for line in before.split("\n")[-LINES:])
    words = [word for word in _WORD.finditer(before, max(0, first)) if word.end() < len(before)]
    if not words:
        return before
    word = rng.choice(words)
    at = rng.randrange(word.start() + 1, word.end() - 1)
    one, two = before[at], before[at + 1]
    return before[:at] + rng.choice([two + one, two, one + one + two]) + before[at + 2 :]


def _place(window: str, at: int) -> Place:
    line = window[window.rfind("\n", 0, at) + 1 : at]
    if not line.strip():
        return Place.LINE
    if line[-1] in BRACKETS:
        return Place.BRACKET
    inside = (line[-1].isalnum() or line[-1] == "_") and (window[at].isalnum() or window[at] == "_")
    return Place.WORD if inside else Place.OTHER


def _closed(window: str, span: Span) -> tuple[int, str] | None:
    """Return where the bracket before a hole is closed in its line, and the text from there without the line's rest."""
    stop, depth = window.find("\n", span.start), 0
    stop = len(window) if stop < 0 else stop
    for at in range(span.start, stop):
        depth += (window[at] in BRACKETS) - (window[at] in BRACKETS.values())
        if depth < 0:
            return at, window[at] + window[stop:]
    return None
