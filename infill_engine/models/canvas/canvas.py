"""The canvas: the slots of one hole in several rows, one row for each candidate.

Rows may have different lengths. They are concatenated on one flat axis of M slots, so that a model can denoise all of
them in one pass without padding: slot `i` of row `r` is flat position `offset[r] + i`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


class SlotState(IntEnum):
    """What is known about a slot."""

    OPEN = 0  # undecided
    DRAFT = 1  # filled in from elsewhere; the model has not accepted it yet
    COMMITTED = 2  # decided in some step; may be reopened
    FIXED = 3  # given; never changes


@dataclass(slots=True)
class Canvas:
    """Slots on a flat axis: `ids`, `state`, `logprob` of the token held, `row` and `index` within the row, all [M].

    `lengths` [N] are the rows' sizes in slots. Only `ids`, `state` and `logprob` change while a canvas is denoised. If
    a model changes the length of a row, all arrays change (`infill_engine.sampling.canvas.denoise`).
    """

    ids: Ints
    state: NDArray[np.int8]
    logprob: NDArray[np.float32]
    row: Ints
    index: Ints
    lengths: Ints

    @property
    def rows(self) -> int:
        return len(self.lengths)

    @property
    def slots(self) -> int:
        return len(self.ids)

    @property
    def left(self) -> Ints:
        """How many slots of its row come after each slot, [M]."""
        return self.lengths[self.row] - 1 - self.index

    def span(self, row: int) -> slice:
        """Return the flat positions of `row`."""
        start = int(self.lengths[:row].sum())
        return slice(start, start + int(self.lengths[row]))


def lay_out(rows: Sequence[Sequence[int] | int], mask_id: int) -> Canvas:
    """Return a canvas with one row per item: an int makes that many open slots, a list of token ids makes a draft."""
    lengths = np.array([row if isinstance(row, int) else len(row) for row in rows], dtype=np.int64)
    ids = np.full(int(lengths.sum()), mask_id, dtype=np.int64)
    canvas = Canvas(
        ids=ids,
        state=np.full(len(ids), SlotState.OPEN, dtype=np.int8),
        logprob=np.zeros(len(ids), dtype=np.float32),
        row=np.repeat(np.arange(len(rows)), lengths),
        index=np.concatenate([np.arange(length) for length in lengths]) if len(rows) else ids,
        lengths=lengths,
    )
    for number, row in enumerate(rows):
        if not isinstance(row, int):
            canvas.ids[canvas.span(number)] = row
            canvas.state[canvas.span(number)] = SlotState.DRAFT
    return canvas
