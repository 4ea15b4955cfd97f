"""A bidirectional context, read once, shared by all rows of a canvas and kept during typing ("dual cache", Fast-dLLM).

    [prefix | suffix after 2 slots | suffix after 8 slots | … ][edge | row | edge][edge | row | edge] …
     kept: keys and values, none of them recomputed              one axis: all that a step computes

Approximate (arXiv 2505.22618): the keys and values of a token stay as they were when it was read. It was read next to
`REFERENCE` open slots, like the holes in training texts, and does not see the tokens decided there. New text is read
together with the `REREAD_TOKENS` tokens on either side, which it affects most, and sees all that is kept. Tokens
further away do not see it until the prefix differs from that of the last whole reading by more than `MOST_DRIFT`
tokens. Only the first step over a row of `REFERENCE` open slots after a whole reading is exact.

A row sees the kept sides and its own slots. The `EDGE` tokens on either side of it are recomputed with it in every step
instead of being kept: decided tokens affect them most, and models with a right shift read the first slot from the token
on its left. A row's suffix follows directly after its last slot. Keys contain their token's position as a rotation
(RoPE), and rotations add up. So a suffix is not recomputed for another length or a longer prefix; its keys are rotated.
Rows of the same length share one such copy.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from infill_engine.budget.work import Job, Phase, Work
from infill_engine.models.base import Ints
from infill_engine.models.canvas.canvas import Canvas, lay_out
from infill_engine.models.kv_cache.layers import (
    COLUMN_BLOCK,
    SLOT_BLOCK,
    LayerMemory,
    Remembered,
    layers_of,
    rounded_up,
)
from infill_engine.models.kv_cache.prefix_cache import StreamCache, shared_length
from infill_engine.models.runtime.tensors import to_device
from infill_engine.models.stock.decoder import Backbone

REFERENCE = 8  # open slots between the sides while they are read: a typical hole
EDGE = 2  # tokens on either side of a row that are computed with it
REREAD_TOKENS = 16  # tokens on either side of typed text that are read again with it
MOST_DRIFT = 64  # tokens of the prefix that may change before the sides are read as a whole again

BETWEEN = -1  # represents the hole when sides are looked up by their tokens
NOBODY, EVERYBODY = -1, 0  # which rows see a kept column, if not those of one length


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """Two sides as they were read.

    `left` and `right` are the keys and values of `prefix` and `suffix`, [1, H, T, hd] in each layer. The first token
    of `right` is at position `place`. `whole` is the prefix of the last whole reading.
    """

    prefix: Ints
    suffix: Ints
    left: list[LayerMemory]
    right: list[LayerMemory]
    place: int
    whole: Ints

    def drift(self, prefix: Ints) -> int:
        """By how many tokens `prefix` differs from the prefix of the last whole reading."""
        return max(len(self.whole), len(prefix)) - shared_length(self.whole, prefix)


@dataclass(frozen=True, slots=True)
class Columns:
    """Kept keys and values in the columns of a pass, and which rows see each: EVERYBODY, NOBODY or a length, [F]."""

    layers: list[LayerMemory]
    seen_by: Ints


class DualCache:
    """Reads sides, keeps the last few, and computes rows that attend to them.

    An open slot holds `mask`. The state for a slot is read `shift` tokens before it.
    """

    def __init__(self, backbone: Backbone, mask: int, shift: int, kept: int = 4) -> None:
        self._backbone = backbone
        self._tensor = to_device(backbone.device)
        self._mask = mask
        self._shift = shift
        self._kept = StreamCache[Kept](kept)
        self._columns: tuple[Kept, tuple[int, ...], Columns] | None = None  # of the last canvas: its steps share them

    def read(self, prefix: Ints, suffix: Ints) -> Job[tuple[Kept, int]]:
        """Both sides, with the missing parts read in one pass, and how many positions that pass computed."""
        key = np.concatenate([suffix, [BETWEEN], prefix])
        # Two keys share more than the suffix only if the suffixes are the same.
        nearest_kept, agreed = self._kept.nearest(key)
        if nearest_kept is not None and (agreed <= len(suffix) or nearest_kept.drift(prefix) > MOST_DRIFT):
            nearest_kept = None
        if nearest_kept is not None and np.array_equal(nearest_kept.prefix, prefix):
            return nearest_kept, 0
        start, end = 0, len(suffix)  # the range that is read
        if nearest_kept is not None:
            start, end = max(0, shared_length(nearest_kept.prefix, prefix) - REREAD_TOKENS), min(REREAD_TOKENS, end)
        positions = rounded_up(len(prefix) - start + REFERENCE + end, SLOT_BLOCK)
        yield Work(Phase.READ, positions)
        read = self._read(nearest_kept, prefix, suffix, start, end)
        self._kept.put(key, read)
        return read, positions

    def rows(self, kept: Kept, canvas: Canvas) -> Tensor:
        """Return states [M, D] for the slots of `canvas`."""
        lengths = tuple(sorted(set(canvas.lengths.tolist())))
        left, right = kept.prefix[-EDGE:], kept.suffix[:EDGE]
        if self._columns is None or self._columns[0] is not kept or self._columns[1] != lengths:
            inner = _between(kept.left, 0, len(kept.prefix) - len(left))
            outer = _between(kept.right, len(right), len(kept.suffix))
            by = {length: len(kept.prefix) + length - kept.place for length in lengths}
            self._columns = kept, lengths, self._arranged(inner, outer, by)
        return self._pass(self._columns[2], len(kept.prefix), left, canvas, right)[1]

    def positions(self, kept: Kept, lengths: Sequence[int]) -> int:
        """Return how many positions are computed for rows of these lengths."""
        edges = min(EDGE, len(kept.prefix)) + min(EDGE, len(kept.suffix))
        return rounded_up(sum(lengths) + len(lengths) * edges, SLOT_BLOCK)

    def _read(self, nearest_kept: Kept | None, prefix: Ints, suffix: Ints, start: int, end: int) -> Kept:
        """The sides with `prefix` read from `start` on and `suffix` up to `end`, the rest from `nearest_kept`."""
        place = len(prefix) + REFERENCE
        left, right, columns = [], [], Columns([], np.empty(0, np.int64))
        if nearest_kept is not None:
            left, right = _between(nearest_kept.left, 0, start), _between(nearest_kept.right, end, len(suffix))
            columns = self._arranged(left, right, {REFERENCE: place - nearest_kept.place})
        reference = lay_out([REFERENCE], self._mask)
        memory, _ = self._pass(columns, len(prefix), prefix[start:], reference, suffix[:end])
        first = len(columns.seen_by)
        hole = first + len(prefix) - start
        before = _between(memory.layers, first, hole)
        behind = _between(memory.layers, hole + REFERENCE, hole + REFERENCE + end)
        if nearest_kept is None:
            return Kept(prefix, suffix, before, behind, place, prefix)
        behind = self._moved(behind, nearest_kept.place - place)  # not the rest, so that no key is rotated repeatedly
        return Kept(
            prefix, suffix, _joined([left, before]), _joined([behind, right]), nearest_kept.place, nearest_kept.whole
        )

    def _arranged(self, left: list[LayerMemory], right: list[LayerMemory], by: dict[int, int]) -> Columns:
        """Return the prefix, and the suffix for rows of each length, shifted by the number of positions in `by`."""
        before, behind = left[0][0].shape[2], right[0][0].shape[2]
        used = before + behind * len(by)
        spare = rounded_up(used, COLUMN_BLOCK) - used
        moved = [self._moved(right, places) for places in by.values()]
        seen_by = [np.full(before, EVERYBODY), np.repeat(list(by), behind), np.full(spare, NOBODY)]
        return Columns(
            _joined([left, *moved, layers_of(self._backbone.empty_memory(1, spare))]), np.concatenate(seen_by)
        )

    def _moved(self, layers: list[LayerMemory], by: int) -> list[LayerMemory]:
        return [(self._backbone.moved(keys, by), values) for keys, values in layers]

    def _pass(self, columns: Columns, hole: int, left: Ints, canvas: Canvas, right: Ints) -> tuple[Remembered, Tensor]:
        """Compute each row of `canvas`, at position `hole`, between the tokens `left` and `right`.

        Returns the keys and values of all columns, the rows' after the kept ones, and the states for the slots.
        """
        widths = len(left) + canvas.lengths + len(right)
        used = int(widths.sum())
        tokens = rounded_up(used, SLOT_BLOCK)
        row = np.full(tokens, -1)  # padding of the last block sees itself and the prefix
        row[:used] = np.repeat(np.arange(canvas.rows), widths)
        index = np.arange(used) - (np.cumsum(widths) - widths)[row[:used]] - len(left)  # relative to the hole
        length = np.zeros(tokens, np.int64)
        length[:used] = canvas.lengths[row[:used]]
        ids, places = np.full(tokens, self._mask), np.zeros(tokens, np.int64)
        places[:used] = hole + index
        ids[:used][index < 0] = np.tile(left, canvas.rows)
        slots = np.flatnonzero((index >= 0) & (index < length[:used]))
        ids[slots] = canvas.ids
        ids[:used][index >= length[:used]] = np.tile(right, canvas.rows)
        of_kept = (columns.seen_by == EVERYBODY) | (columns.seen_by == length[:, None])
        visible = self._tensor(np.concatenate([of_kept, row == row[:, None]], 1))[None, None]
        memory = Remembered(columns.layers)
        states = self._backbone.states(self._tensor(ids)[None], self._tensor(places)[None], visible, memory)
        return memory, states[0, self._tensor(slots - self._shift)]


def _between(layers: list[LayerMemory], start: int, end: int) -> list[LayerMemory]:
    return [(keys[:, :, start:end], values[:, :, start:end]) for keys, values in layers]


def _joined(parts: list[list[LayerMemory]]) -> list[LayerMemory]:
    return [
        (torch.cat([keys for keys, _ in layer], 2), torch.cat([values for _, values in layer], 2))
        for layer in zip(*parts, strict=True)
    ]
