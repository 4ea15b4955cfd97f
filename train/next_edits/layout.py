"""Lays out one region of a text for training: its lines as they are scored, and the change as it is written.

    prompt │ unchanged lines of the region          predicts at the beginning of each line whether it changes
                       └ -old +new …                a branch for a change: sees the lines above it, not those below

The product asks in the same order (`infill_engine.sampling.trunk.rewriting`): first the lines as they are, then the
change.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from infill_engine.models.trunk.prompt import TrunkVocabulary
from infill_engine.sampling.trunk.diff_prompt import DiffPrompt

KEEP, REMOVE, INSERT = range(3)
SIGNS = (b" ", b"-", b"+")
MOST_WRITTEN = 80  # tokens of a change that are learned
MOST_LINES = 6  # removed or inserted


@dataclass(frozen=True, slots=True)
class LineChange:
    """A replacement in a region: `removed` lines from number `line` on become `inserted`."""

    line: int
    removed: int
    inserted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Laid:
    """The rows of a region, T of them, and what is learned from them.

    The first `prompt` rows are the prompt. `starts` are the rows that predict the first token of a line that may
    change, and `signs` what it should begin with. `rows` predict `tokens`. `changed` marks the starts of a change.
    `told` are the rows of the prompt that predict inserted lines of its hunks, each in the row after it. The first hunk
    is not among them, because nothing tells of it.
    """

    ids: Tensor  # [T]
    positions: Tensor  # [T]
    seen: Tensor  # [T, T]
    starts: Tensor  # [S]
    signs: Tensor  # [S]
    changed: Tensor  # [S]
    first_starts: int  # how many of the starts belong to the unchanged lines
    rows: Tensor  # [N]
    tokens: Tensor  # [N]
    prompt: int
    told: Tensor  # [M]


@dataclass
class _Rows:
    ids: list[int]
    positions: list[int]
    parents: list[int]  # the row before each row
    starts: list[int] = field(default_factory=list)
    signs: list[int] = field(default_factory=list)
    changed: list[bool] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)

    def add(self, tokens: Sequence[int], parent: int) -> int:
        """Add tokens that follow the row `parent`. Returns the last row."""
        for token in tokens:
            self.ids.append(token)
            self.positions.append(self.positions[parent] + 1)
            self.parents.append(parent)
            parent = len(self.ids) - 1
        return parent

    def decide(self, row: int, sign: int, *, changed: bool) -> None:
        """Learn what the line after a row begins with."""
        self.starts.append(row)
        self.signs.append(sign)
        self.changed.append(changed)


def lay_out(prompt: DiffPrompt, changes: Sequence[LineChange], vocabulary: TrunkVocabulary) -> Laid:
    """Return the rows of a prompt, of the lines after it, and of the changes."""
    tokens = prompt.prompt.tokens
    rows = _Rows(list(tokens), list(range(len(tokens))), list(range(-1, len(tokens) - 1)))
    last = len(tokens) - 1
    behind: list[int] = []
    by_line = {change.line: change for change in changes}
    for number, line in enumerate(prompt.lines):
        behind.append(last)
        if not line.is_fixed:
            change = by_line.get(number)
            sign = KEEP if change is None else REMOVE if change.removed else INSERT
            rows.decide(last, sign, changed=change is not None)
        last = rows.add(line.tokens, last)
    first_starts = len(rows.starts)
    for change in changes:
        if change.removed <= MOST_LINES and len(change.inserted) <= MOST_LINES:
            _write(rows, prompt, change, behind[change.line], vocabulary)
    return Laid(
        torch.tensor(rows.ids),
        torch.tensor(rows.positions),
        _seen(rows.parents),
        torch.tensor(rows.starts, dtype=torch.long),
        torch.tensor(rows.signs, dtype=torch.long),
        torch.tensor(rows.changed, dtype=torch.bool),
        first_starts,
        torch.tensor(rows.rows, dtype=torch.long),
        torch.tensor(rows.tokens, dtype=torch.long),
        len(tokens),
        torch.tensor(list(_told(tokens, vocabulary)), dtype=torch.long),
    )


def _write(rows: _Rows, prompt: DiffPrompt, change: LineChange, last: int, vocabulary: TrunkVocabulary) -> None:
    """Add the branch of a change after the row `last`."""
    written = 0
    for number in range(change.removed):
        if number:
            rows.decide(last, REMOVE, changed=True)
        last = rows.add(vocabulary.encode(f"-{prompt.lines[change.line + number].text}\n"), last)
    if change.removed:
        rows.decide(last, INSERT if change.inserted else KEEP, changed=True)
    for number, text in enumerate(change.inserted):
        if number:
            rows.decide(last, INSERT, changed=True)
        tokens = vocabulary.encode(f"+{text}\n")[: MOST_WRITTEN - written]
        for token in tokens:
            rows.rows.append(last)
            rows.tokens.append(token)
            last = rows.add([token], last)
        written += len(tokens)
        if written == MOST_WRITTEN:
            return
    if change.inserted:
        rows.decide(last, KEEP, changed=True)


def _told(tokens: Sequence[int], vocabulary: TrunkVocabulary) -> Iterator[int]:
    """Yield the rows before the tokens of inserted lines, from the second hunk of a prompt on."""
    hunks, sign, is_first = 0, b"", True
    for row, token in enumerate(tokens):
        text = vocabulary.bytes_of(token)
        if is_first:
            sign = text[:1]
            hunks += sign == b"@"
        if sign == b"+" and hunks > 1:
            yield row - 1
        is_first = text.endswith(b"\n")


def _seen(parents: Sequence[int]) -> Tensor:
    """Return which rows each row sees [T, T]: itself, and what it follows."""
    seen = torch.zeros(len(parents), len(parents), dtype=torch.bool)
    for row, parent in enumerate(parents):
        if parent >= 0:
            seen[row] = seen[parent]
        seen[row, row] = True
    return seen


def changes_in(
    prompt: DiffPrompt, first: int, hunks: Sequence[tuple[int, Sequence[str], Sequence[str]]]
) -> Iterator[LineChange]:
    """Yield the changes that lie in a prompt's lines, the first of which is row `first` of the text.

    A hunk is a row, the old lines there, and the new ones.
    """
    for row, old, new in hunks:
        line = row - first
        lines = prompt.lines[line : line + max(1, len(old))] if line >= 0 else ()
        inside = len(lines) == max(1, len(old)) and not any(each.is_fixed for each in lines)
        if inside and [each.text for each in lines[: len(old)]] == list(old):
            yield LineChange(line, len(old), tuple(new))
