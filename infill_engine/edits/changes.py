"""Changes of a text: compose them, trim them, derive them from two texts, and map offsets across them."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate

from infill_engine.edits.types import Change
from infill_engine.text import lines
from infill_engine.text.languages.registry import language as language_named
from infill_engine.text.sequences import common_ends


@cache
def word_chars(language: str) -> re.Pattern[str]:
    """Return a pattern for a character of the language's names."""
    return re.compile(r"[\w$]" if language_named(language).lexical.word.fullmatch("$") else r"\w")


def make(text: str, changes: Iterable[Change], start: int = 0, end: int | None = None) -> str:
    """Return `text[start:end]` with the changes applied, which are all in it, sorted, and do not overlap."""
    parts, at = [], start
    for change in changes:
        parts += [text[at : change.start], change.new]
        at = change.end
    return "".join(parts) + text[at:end]


def inserted(changes: Iterable[Change]) -> Iterator[tuple[Change, int, int]]:
    """Yield the changes, each with the span of its new text in the text after them."""
    growth = 0
    for change in changes:
        start = change.start + growth
        yield change, start, start + len(change.new)
        growth += change.growth


def compose(changes: Sequence[Change], start: int, end: int, new: str) -> tuple[Change, ...]:
    """Return the changes followed by one more, whose `start` and `end` refer to the text after the changes.

    Adjacent changes are joined, so the result is sorted and has text between any two changes.
    """
    spans = list(inserted(changes))
    kept = [one for one, first, last in spans if last < start or first > end]
    joined = [(one, first) for one, first, last in spans if first <= end and last >= start]
    shift = sum(one.growth for one, _, last in spans if last < start)
    low, high, left, right = start - shift, end - shift, "", ""
    if joined:
        (top, first), (bottom, last) = joined[0], joined[-1]
        low, high = min(low, top.start), max(high - sum(one.growth for one, _ in joined), bottom.end)
        left, right = top.new[: max(0, start - first)], bottom.new[max(0, end - last) :]
    return tuple(sorted((*kept, Change(low, high, left + new + right))))


def followed_by(first: Sequence[Change], then: Sequence[Change]) -> tuple[Change, ...]:
    """Return two lists of changes as one; the second refers to the text after the first."""
    changes = tuple(first)
    for change in reversed(then):
        changes = compose(changes, change.start, change.end, change.new)
    return changes


def trimmed(text: str, changes: Iterable[Change]) -> tuple[Change, ...]:
    """Return the changes without the text that they keep, and without those that change nothing."""
    ends = ((one, common_ends(text[one.start : one.end], one.new)) for one in changes)
    cut = (
        Change(one.start + left, one.end - right, one.new[left : len(one.new) - right]) for one, (left, right) in ends
    )
    return tuple(change for change in cut if change.new or change.end > change.start)


def between(before: str, after: str) -> tuple[Change, ...]:
    """Return the one change that leads from a text to another; none if they are equal."""
    return trimmed(before, [Change(0, len(before), after)])


def changed_lines(before: str, after: str, changes: Sequence[Change]) -> Iterator[tuple[int, int, str]]:
    """Yield the start and end of each changed line or group of adjacent lines, and its new text.

    Adjacent lines whose number stays the same are yielded one by one.
    """
    groups: list[tuple[int, int, int, int]] = []  # start and end before, start and end after
    growth = 0
    for change in changes:
        start, end = lines.around(before, change.start, change.end)
        grown = growth + change.growth
        if groups and start <= groups[-1][1] + 1:
            groups[-1] = (groups[-1][0], end, groups[-1][2], end + grown)
        else:
            groups.append((start, end, start + growth, end + grown))
        growth = grown
    for start, end, new_start, new_end in groups:
        old, new = before[start:end].split("\n"), after[new_start:new_end].split("\n")
        if len(old) != len(new):
            yield start, end, after[new_start:new_end]
            continue
        at = start
        for one, other in zip(old, new, strict=True):
            if one != other:
                yield at, at + len(one), other
            at += len(one) + 1


def changed_hunks(before: str, changes: Sequence[Change]) -> Iterator[tuple[int, int, str]]:
    """Yield the start and end of each group of adjacent lines that change, and its new text."""
    hunks: list[tuple[int, int, str]] = []
    for start, end, new in changed_lines(before, make(before, changes), changes):
        if hunks and start == hunks[-1][1] + 1:
            first, _, above = hunks.pop()
            start, new = first, f"{above}\n{new}"
        hunks.append((start, end, new))
    yield from hunks


def hunk_texts(before: str, changes: Sequence[Change]) -> tuple[tuple[str, str], ...]:
    """Return each group of adjacent lines that change, before and after."""
    return tuple((before[start:end], new) for start, end, new in changed_hunks(before, changes))


def words_changed(before: str, changes: Sequence[Change], language: str) -> Iterator[tuple[int, int, str]]:
    """Yield the changes, widened to whole words of the text before. Changes in one word are joined."""
    words: list[tuple[int, int, list[Change]]] = []
    for change in changes:
        start, end = word_at(before, change.start, change.end, language)
        if words and start == words[-1][0]:
            _, last, joined = words.pop()
            words.append((start, max(end, last), [*joined, change]))
        else:
            words.append((start, end, [change]))
    for start, end, joined in words:
        yield start, end, make(before, joined, start, end)


def word_at(text: str, start: int, end: int, language: str) -> tuple[int, int]:
    """Return the span widened to whole words at both ends."""
    chars = word_chars(language)
    while start and chars.match(text[start - 1]):
        start -= 1
    while end < len(text) and chars.match(text[end]):
        end += 1
    return start, end


class Shift:
    """Maps offsets from the text before some changes to the text after them."""

    def __init__(self, changes: Sequence[Change]) -> None:
        self._changes = changes
        self._starts = [change.start for change in changes]
        self._growth = list(accumulate((change.growth for change in changes), initial=0))

    def span(self, start: int, end: int) -> tuple[int, int] | None:
        """Map a span of the text before; None if it touches a change."""
        at = bisect_right(self._starts, end)
        if at and self._changes[at - 1].end >= start:
            return None
        return start + self._growth[at], end + self._growth[at]

    def offset(self, at: int) -> int:
        """Map an offset of the text before. Inside a change, the result is the change's end."""
        index = bisect_right(self._starts, at)
        if index:
            change = self._changes[index - 1]
            if at <= change.end:
                return change.start + self._growth[index - 1] + len(change.new)
        return at + self._growth[index]
