"""The lines of a text to which a rule of tokens applies, and the edits that it makes there."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

from infill_engine.edits.similar.token_rules import COMPARED, LONGEST_LINE, Rule, Swap
from infill_engine.edits.tokens import TOKEN, WORD
from infill_engine.edits.types import Edit, Span
from infill_engine.text.lines import indent_of
from infill_engine.text.sequences import dice

MOST_PLACES = 60  # of one rule; with more, it says nothing


@dataclass(frozen=True, slots=True)
class Repeat:
    """Adjacent `rows` to which a rule applies. The changes that apply are `share` of all.

    `similar` is the share of tokens that the lines have in common, and `context` that of the compared tokens around
    the changes that are the same.
    """

    edits: tuple[Edit, ...]
    rows: range
    similar: float = 1.0
    context: float = 1.0
    share: float = 1.0


class Lines:
    """The lines of a text without their ends, split into tokens when they are looked at."""

    def __init__(self, text: str) -> None:
        self.text = text
        whole = text.split("\n")
        self.lines = [line.removesuffix("\r") for line in whole]
        self.starts = [0, *accumulate(len(line) + 1 for line in whole)]
        self._tokens: dict[int, list[re.Match[str]]] = {}

    @cached_property
    def stripped(self) -> list[str]:
        """The lines without blanks at their ends."""
        return [line.strip() for line in self.lines]

    def row_of(self, at: int) -> int:
        """Return the row of an offset."""
        return bisect_right(self.starts, at) - 1

    def tokens(self, row: int) -> list[re.Match[str]]:
        """Return the tokens of a line."""
        if row not in self._tokens:
            self._tokens[row] = list(TOKEN.finditer(self.lines[row]))
        return self._tokens[row]

    def rows_with(self, text: str) -> list[int]:
        """Return the rows in which a text occurs; none if there are too many."""
        rows: list[int] = []
        at = self.text.find(text)
        while at >= 0 and len(rows) <= 4 * MOST_PLACES:
            rows.append(self.row_of(at))
            at = self.text.find(text, self.starts[rows[-1] + 1])
        return rows if at < 0 else []


def repeats(rule: Rule, lines: Lines) -> list[Repeat]:
    """Return the places where a rule applies, from top to bottom; none if there are too many."""
    found = list(_lines(rule, lines) if rule.swaps else _blocks(rule, lines))
    return found if len(found) <= MOST_PLACES else []


def _blocks(rule: Rule, lines: Lines) -> Iterator[Repeat]:
    old_lines, count = [line.strip() for line in rule.lines], len(rule.lines)
    if not any(len(WORD.findall(line)) > 1 for line in old_lines):
        return
    anchor = max(range(count), key=lambda at: len(old_lines[at]))
    for row in lines.rows_with(old_lines[anchor]):
        first = row - anchor
        if first < 0 or lines.stripped[first : first + count] != old_lines or _is_made(rule, lines, first):
            continue
        start, indent = lines.starts[first], indent_of(lines.lines[first])
        end = "\r\n" if lines.text.startswith("\r\n", start + len(lines.lines[first])) else "\n"
        old = end.join(lines.lines[first : first + count])
        new = end.join(indent + line if line.strip() else line for line in rule.new_lines)
        if not rule.new_lines:
            old += end
        if lines.text.startswith(old, start):
            yield Repeat((Edit(Span(start, start + len(old), old), new),), range(first, first + count))


def _is_made(rule: Rule, lines: Lines, first: int) -> bool:
    """Return whether the lines are part of what the edit makes of them."""
    old, new = [line.strip() for line in rule.lines], [line.strip() for line in rule.new_lines]
    starts = (first - at for at in range(len(new)) if new[at : at + len(old)] == old)
    return any(start >= 0 and lines.stripped[start : start + len(new)] == new for start in starts)


def _lines(rule: Rule, lines: Lines) -> Iterator[Repeat]:
    count, wanted = len(rule.lines), Counter(TOKEN.findall("\n".join(rule.lines)))
    new_lines = [line.strip() for line in rule.new_lines]
    starts = {
        row - at
        for at, swaps in enumerate(rule.swaps)
        for swap in swaps
        if (anchor := _anchor(swap))
        for row in lines.rows_with(anchor)
    }
    for first in sorted(starts):
        rows = range(first, first + count)
        if first < 0 or rows.stop > len(lines.lines) or lines.stripped[first : rows.stop] == new_lines:
            continue
        found = [list(_made(swaps, lines, row)) for swaps, row in zip(rule.swaps, rows, strict=True)]
        if not all(made for made, swaps in zip(found, rule.swaps, strict=True) if swaps):
            continue
        same = {edit: around for made in found for _, edit, around in made}
        edits = tuple(_joined(sorted((*same, *_indented(rule, lines, rows)))))
        if all(one.span.end < other.span.start for one, other in pairwise(edits)):
            own = Counter(token.group() for row in rows for token in lines.tokens(row))
            context = sum(same.values()) / len(same) / (2 * COMPARED)
            share = sum(len({swap for swap, *_ in made}) for made in found) / sum(map(len, rule.swaps))
            yield Repeat(edits, rows, dice(wanted, own), context, share)


def _indented(rule: Rule, lines: Lines, rows: range) -> Iterator[Edit]:
    """Yield the changes of indentation, which no token tells, below the first line."""
    base = indent_of(lines.lines[rows[0]])
    for row, old, new in zip(rows[1:], rule.lines[1:], rule.new_lines[1:], strict=True):
        before, after = base + indent_of(old), base + indent_of(new)
        if before != after and indent_of(lines.lines[row]) == before:
            at = lines.starts[row]
            yield Edit(Span(at, at + len(before), before), after)


def _joined(edits: Iterable[Edit]) -> list[Edit]:
    """Return sorted edits with those that touch as one."""
    found: list[Edit] = []
    for edit in edits:
        if found and found[-1].span.end == edit.span.start:
            last = found.pop()
            span = Span(last.span.start, edit.span.end, last.span.text + edit.span.text)
            edit = Edit(span, last.new + edit.new)
        found.append(edit)
    return found


def _made(swaps: Sequence[Swap], lines: Lines, row: int) -> Iterator[tuple[Swap, Edit, int]]:
    """Yield the changes that can be made in a line, and how many tokens around each are the same.

    If one fits, the others may fit loosely.
    """
    line, at = lines.lines[row], lines.starts[row]
    if len(line) > LONGEST_LINE:
        return
    tokens = lines.tokens(row)
    found = {swap: list(swap.places(line, tokens)) for swap in swaps}
    if not any(found.values()):
        return
    found = {swap: places or list(swap.places(line, tokens, loosely=True)) for swap, places in found.items()}
    if _moves(swaps) and not all(found.values()):
        return
    for swap, places in found.items():
        for start, end, around in places:
            yield swap, Edit(Span(at + start, at + end, line[start:end]), swap.new), around


def _moves(swaps: Sequence[Swap]) -> bool:
    """Return whether one change of a line removes a word that another one inserts."""
    removed = {word for swap in swaps for word in swap.removed if WORD.match(word)}
    return any(word in removed for swap in swaps for word in swap.inserted)


def _anchor(swap: Swap) -> str:
    """Return the longest word of a change, or else of the tokens around it."""
    around = (*swap.left[-2:], *swap.right[:2])
    words = list(filter(WORD.match, swap.removed)) or filter(WORD.match, around)
    return max(words, key=len, default="")
