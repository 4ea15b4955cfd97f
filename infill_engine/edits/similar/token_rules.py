"""Recent edits as rules of tokens.

`methods: list[str] = []` became `methods: Collection[str] = []`: `list` becomes `Collection` where the tokens around it
are the same. Text without nodes can be compared as well: strings, comments, lines with errors.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from infill_engine.edits.tokens import TOKEN, WORD, is_name, token_changes
from infill_engine.edits.types import Change
from infill_engine.text.lines import indent_of
from infill_engine.text.sequences import common_ends, common_prefix

MOST_EDITS = 12  # the newest of the history
MOST_RULES = 24
LONGEST_LINE = 300
MOST_LINES = 12  # of a block
COMPARED = 4  # tokens on either side of a change
END = "\n"  # stands before the first token of a line and after its last


@dataclass(frozen=True, slots=True)
class Swap:
    """One change of a line: the tokens before and after it, those that it removes, and the text that it inserts.

    `blanks` says whether the removed text begins and ends with blanks. An insertion keeps to the token on its left if
    `to_left`.
    """

    left: tuple[str, ...]
    removed: tuple[str, ...]
    right: tuple[str, ...]
    new: str
    blanks: tuple[bool, bool]
    to_left: bool

    @property
    def inserted(self) -> list[str]:
        """The tokens of the inserted text."""
        return TOKEN.findall(self.new)

    def places(
        self, line: str, tokens: Sequence[re.Match[str]], *, loosely: bool = False
    ) -> Iterator[tuple[int, int, int]]:
        """Yield where the change can be made in a line: start, end, and how many tokens around it are the same.

        With `loosely`, signs around it are enough.
        """
        texts, count, inserted = [token.group() for token in tokens], len(self.removed), self.inserted
        named = any(map(is_name, self.removed))
        for at in range(len(texts) - count + 1):
            if tuple(texts[at : at + count]) != self.removed:
                continue
            before, after = texts[max(0, at - len(inserted)) : at], texts[at : at + len(inserted)]
            if inserted and inserted in (before, after):
                continue  # it is made
            end = at + count
            last, following = texts[at - 1] if at else END, texts[end] if end < len(texts) else END
            if not named and (last,) != self.left[-1:] and (following,) != self.right[:1]:
                continue  # nothing around it is the same
            left = common_prefix([*texts[max(0, at - COMPARED) : at][::-1], END], self.left[::-1])
            right = common_prefix([*texts[end : end + COMPARED], END], self.right)
            if self._fits(left, right, loosely):
                yield *self._span(line, tokens, at), left + right

    def _fits(self, left: int, right: int, loosely: bool) -> bool:
        """Return whether enough tokens on the left and on the right are the same."""
        if any(map(is_name, self.removed)):
            return True
        around = (*self.left[len(self.left) - left :], *self.right[:right])
        return left + right >= 2 and (loosely or any(len(token) > 1 and WORD.match(token) for token in around))

    def _span(self, line: str, tokens: Sequence[re.Match[str]], at: int) -> tuple[int, int]:
        end = at + len(self.removed)
        following = tokens[end].start() if end < len(tokens) else len(line)
        if at == end:
            place = tokens[at - 1].end() if self.to_left and at else following
            return place, place
        first = tokens[at - 1].end() if self.blanks[0] and at else tokens[at].start()
        return first, following if self.blanks[1] else tokens[end - 1].end()


@dataclass(frozen=True, slots=True)
class Rule:
    """What an edit did to adjacent lines: `swaps` of each; if there are none, a block of lines replaces another.

    `lines` and `new_lines` are those before and after the edit, without their common indentation.
    """

    swaps: tuple[tuple[Swap, ...], ...]
    lines: tuple[str, ...]
    new_lines: tuple[str, ...]

    @property
    def key(self) -> object:
        """What rules that make the same change have in common."""
        return tuple(map(_key_of, self.swaps)) or (self.lines, self.new_lines)

    @property
    def opposite(self) -> object:
        """The key of rules that take it back."""
        back = tuple(tuple((tuple(swap.inserted), swap.removed) for swap in swaps) for swaps in self.swaps)
        return back or (self.new_lines, self.lines)

    @property
    def removed(self) -> list[str]:
        """The tokens that it takes away."""
        if self.swaps:
            return [token for swap in chain.from_iterable(self.swaps) for token in swap.removed]
        return TOKEN.findall("\n".join(self.lines))

    @property
    def inserted(self) -> list[str]:
        """The tokens that it inserts."""
        new = [swap.new for swap in chain.from_iterable(self.swaps)]
        return TOKEN.findall("\n".join(new if self.swaps else self.new_lines))


def rules_of(history: Sequence[tuple[str, str]]) -> list[Rule]:
    """Return what the newest edits did, the newest first: lines before and after each, the newest last."""
    return [rule for pair in reversed(history[-MOST_EDITS:]) for rule in _rules_of(*pair)][:MOST_RULES]


def _rules_of(old: str, new: str) -> Iterator[Rule]:
    ours, theirs = old.splitlines(), new.splitlines()
    top, low = common_ends(ours, theirs)
    ours, theirs = ours[top : len(ours) - low], theirs[top : len(theirs) - low]
    if not ours or len(ours) > MOST_LINES:
        return
    indent = indent_of(ours[0])
    lines, new_lines = (tuple(line.removeprefix(indent) for line in block) for block in (ours, theirs))
    if len(ours) == len(theirs):
        swaps = tuple(tuple(_swaps(one, other)) for one, other in zip(ours, theirs, strict=True))
        keys = Counter(_key_of(each) for each in swaps if each)
        for each, line, new_line in zip(swaps, lines, new_lines, strict=True):
            if each and (len(keys) == 1 or keys[_key_of(each)] > 1):
                yield Rule((each,), (line,), (new_line,))
        if len(keys) > 1:  # lines that were changed together, each in its own way
            yield Rule(swaps, lines, new_lines)
    if len(ours) > 1 or len(ours) != len(theirs):
        yield Rule((), lines, new_lines)


def _key_of(swaps: Sequence[Swap]) -> object:
    return tuple((swap.removed, tuple(swap.inserted)) for swap in swaps)


def _swaps(one: str, other: str) -> Iterator[Swap]:
    if max(len(one), len(other)) > LONGEST_LINE:
        return
    for change in _joined(one, token_changes(one, other)):
        gone = one[change.start : change.end]
        if gone.strip() or change.new.strip():
            yield Swap(
                (END, *TOKEN.findall(one[: change.start]))[-COMPARED:],
                tuple(TOKEN.findall(gone)),
                (*TOKEN.findall(one[change.end :]), END)[:COMPARED],
                change.new,
                (gone[:1].isspace(), gone[-1:].isspace()),
                change.start > 0 and not one[change.start - 1].isspace(),
            )


def _joined(line: str, changes: Sequence[Change]) -> list[Change]:
    """Join replacements with only one sign between them, so that `form-group` becomes `mb-3` as a whole or not."""
    found: list[Change] = []
    for change in changes:
        between = line[found[-1].end : change.start] if found else ""
        if len(between.strip()) == len(between) == 1 and found[-1].start < found[-1].end and change.start < change.end:
            last = found.pop()
            change = Change(last.start, change.end, last.new + between + change.new)
        found.append(change)
    return found
