"""Where the tokens of a prompt and of texts are in a buffer of keys and values, and which of them a row sees.

    slots               contents                            seen by its own later tokens and by
    [0, SUFFIX)         the head of the prompt              all other parts
    [SUFFIX, PREFIX)    the suffix marker and the suffix    the middle and the texts
    [PREFIX, MIDDLE)    the prefix marker and the prefix    the suffix, the middle and the texts
    [MIDDLE, TEXTS)     the middle marker and the line      the texts
    [TEXTS, SLOTS)      tokens of candidate texts           (only the tokens that continue the same text)

The head ends at SUFFIX. The suffix has its own slots so that the prefix can grow in place. A pass does not read slots
left of the head.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from infill_engine.models.trunk.prompt import HEAD_TOKENS, LINE_TOKENS, PREFIX_TOKENS, SUFFIX_TOKENS, Prompt

SUFFIX = HEAD_TOKENS
PREFIX = SUFFIX + SUFFIX_TOKENS + 1
MIDDLE = PREFIX + PREFIX_TOKENS + 1
TEXTS = MIDDLE + LINE_TOKENS + 1
SLOTS = TEXTS + 224
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
MOST_BLOCKS = 3  # of mask rows in a pass
_EVERY = np.arange(SLOTS)


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks of mask rows in a pass: block b has `widths[b]` of them, after row `anchors[b]`."""

    anchors: Sequence[int]
    widths: Sequence[int]

    def __len__(self) -> int:
        """The number of mask rows."""
        return sum(self.widths)

    def rows(self, number: int) -> slice:
        """Return which mask rows a block has."""
        start = sum(self.widths[:number])
        return slice(start, start + self.widths[number])

    @property
    def numbers(self) -> Ints:
        """The block of each mask row [M]."""
        return np.repeat(np.arange(len(self.widths)), self.widths)

    @property
    def slots(self) -> Ints:
        """The slot of each mask row in its block [M]."""
        return np.array([slot for width in self.widths for slot in range(width)], np.int64)

    @property
    def behind(self) -> Ints:
        """The anchor of each mask row [M]."""
        return np.array(self.anchors, np.int64)[self.numbers]


NO_BLOCKS = Blocks((), ())


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one pass: ids, positions and slots [T] each, and which slots each row sees [T, SLOTS].

    No row sees a slot before `first`. `blocks` are the mask rows after them. If `adapted`, the pass adds the terms of
    the edit adapter; such a pass has no blocks.
    """

    ids: Sequence[int]
    positions: Sequence[int]
    slots: Sequence[int]
    seen: Bools
    first: int = SUFFIX
    blocks: Blocks = NO_BLOCKS
    adapted: bool = False

    def __len__(self) -> int:
        """The number of rows without mask rows."""
        return len(self.ids)

    def part(self, numbers: slice) -> "Rows":
        """Return some of the rows, for a pass of their own."""
        ids, positions, slots = self.ids[numbers], self.positions[numbers], self.slots[numbers]
        return replace(self, ids=ids, positions=positions, slots=slots, seen=self.seen[numbers])

    @property
    def used(self) -> slice:
        """The slots that a pass over these rows reads."""
        return slice(self.first, max(TEXTS, max(self.slots, default=0) + 1))

    @property
    def mask_positions(self) -> Ints:
        """The positions of the mask rows [M]."""
        return np.array(self.positions, np.int64)[self.blocks.behind] + 1 + self.blocks.slots

    @property
    def seen_by_masks(self) -> Bools:
        """Which of the used slots, and then of the mask rows, each mask row sees [M, used + M]."""
        numbers = self.blocks.numbers
        return np.concatenate([self.seen[self.blocks.behind, self.used], numbers[:, None] == numbers], 1)


NO_ROWS = Rows((), (), (), np.zeros((0, SLOTS), np.bool_))


def prompt_rows(prompt: Prompt, slots: Sequence[int]) -> Rows:
    """Return the rows of a prompt for some of its slots."""
    first = first_of_head(prompt)
    before_suffix = len(prompt.head) + len(prompt.prefix)
    ids, positions = [], []
    for slot in slots:
        if slot >= MIDDLE:
            ids.append(prompt.middle[slot - MIDDLE])
            positions.append(before_suffix + len(prompt.suffix) + slot - MIDDLE)
        elif slot >= PREFIX:
            ids.append(prompt.prefix[slot - PREFIX])
            positions.append(len(prompt.head) + slot - PREFIX)
        elif slot >= SUFFIX:
            ids.append(prompt.suffix[slot - SUFFIX])
            positions.append(before_suffix + slot - SUFFIX)
        else:
            ids.append(prompt.head[slot - first])
            positions.append(slot - first)
    own = np.array(slots, np.int64)[:, None]
    head, prefix, suffix = _held(prompt.head, first), _held(prompt.prefix, PREFIX), _held(prompt.suffix, SUFFIX)
    of_head = own < SUFFIX
    of_prefix = (own >= PREFIX) & (own < MIDDLE)
    of_suffix = (own >= SUFFIX) & (own < PREFIX)
    of_middle = own >= MIDDLE
    not_later = own >= _EVERY
    seen = of_head & head & not_later
    seen |= of_prefix & (head | ((_EVERY >= PREFIX) & not_later))
    seen |= of_suffix & (head | prefix | ((_EVERY >= SUFFIX) & not_later))
    seen |= of_middle & (head | prefix | suffix | ((_EVERY >= MIDDLE) & not_later))
    return Rows(ids, positions, slots, seen, first)


def first_of_head(prompt: Prompt) -> int:
    """Return the slot of the head's first token: the head ends where the suffix begins."""
    return SUFFIX - len(prompt.head)


def text_rows(
    prompt: Prompt, tokens: Sequence[int], depths: Sequence[int], slots: Sequence[int], parents: Sequence[Sequence[int]]
) -> Rows:
    """Return the rows of texts after a prompt.

    `depths` count from 0 at the first token. `parents` are slots of earlier tokens.
    """
    first = first_of_head(prompt)
    of_prompt = _held(prompt.head, first) | _held(prompt.suffix, SUFFIX)
    of_prompt |= _held(prompt.prefix, PREFIX) | _held(prompt.middle, MIDDLE)
    seen = np.tile(of_prompt, (len(tokens), 1))
    for row, (slot, before) in enumerate(zip(slots, parents, strict=True)):
        seen[row, [slot, *before]] = True
    behind = len(prompt.tokens)
    return Rows(tokens, [behind + depth for depth in depths], slots, seen, first)


def joined(one: Rows, other: Rows) -> Rows:
    """Return all rows of `one` and `other`, for one pass."""
    return Rows(
        [*one.ids, *other.ids],
        [*one.positions, *other.positions],
        [*one.slots, *other.slots],
        np.concatenate([one.seen, other.seen]),
        min(one.first, other.first),
    )


def _held(part: Sequence[int], first: int) -> Bools:
    return (first <= _EVERY) & (first + len(part) > _EVERY)
