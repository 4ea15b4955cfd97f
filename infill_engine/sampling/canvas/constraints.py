"""Which tokens each slot may hold: hard masks over the vocabulary, known before the model runs."""

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from infill_engine.models.base import CanvasModel, Ints, Order
from infill_engine.models.canvas.canvas import Canvas, SlotState
from infill_engine.types import Hole

FORBIDDEN = -1e9  # finite, so that a softmax row never becomes empty


def _none() -> Ints:
    return np.empty(0, np.int64)


@dataclass(slots=True)
class Constraints:
    """The masks of one hole. `base` [V] applies everywhere; `starts` maps flat positions to bytes they must continue.

    A start shrinks from slot to slot: a token that covers only the beginning passes the rest to the next slot.
    """

    base: Tensor
    eos_id: int
    starts: dict[int, bytes] = field(default_factory=dict)
    line_ends: Ints = field(default_factory=_none)  # tokens that count as an end, in a row that is decided in order
    last: Ints = field(default_factory=_none)  # tokens with text before a line break, which end such a row
    expand_id: int | None = None  # if there is one, the end token deletes its slot, and so may come first
    most_slots: int = 0
    may_grow: bool = True  # whether there are steps left to fill new slots

    def is_last(self, ids: Ints) -> NDArray[np.bool_]:
        """Return which of `ids` end their row, if rows are decided in order."""
        return np.isin(ids, [self.eos_id, *self.last])

    def waits(self, canvas: Canvas, position: int) -> bool:
        """Return whether the slot must wait for the one before it, whose token decides how this one must begin."""
        return canvas.index[position] > 0 and position - 1 in self.starts

    def apply(self, model: CanvasModel, logits: Tensor, canvas: Canvas, wanted: list[int]) -> Tensor:
        """Mask logits [W, V] of the flat positions `wanted`."""
        given, logits = logits, logits + self.base
        if len(self.line_ends):
            logits[:, self.eos_id] = torch.logsumexp(given[:, [self.eos_id, *self.line_ends.tolist()]], -1)
        if self.expand_id is not None:
            full = canvas.lengths[canvas.row[wanted]] >= self.most_slots
            logits[np.flatnonzero(full) if self.may_grow else slice(None), self.expand_id] = FORBIDDEN
        for number, position in enumerate(wanted):
            start = self.starts.get(position)
            if start is not None:
                allowed = _allowed(model, start, room=int(canvas.left[position]))
                if len(allowed):
                    kept = logits[number, allowed].clone()
                    logits[number] = FORBIDDEN
                    logits[number, allowed] = kept
            elif canvas.index[position] == 0 and (self.expand_id is None or not canvas.left[position]):
                logits[number, self.eos_id] = FORBIDDEN  # an empty text is not a candidate
        return logits

    def advance(self, model: CanvasModel, canvas: Canvas) -> None:
        """Pass the rest of a partial word to the next slot once the slot before it is decided."""
        for position, start in list(self.starts.items()):
            if canvas.state[position] == SlotState.OPEN:
                continue
            del self.starts[position]
            canvas.state[position] = SlotState.FIXED
            rest = start[len(model.vocabulary.bytes_of(int(canvas.ids[position]))) :]
            if rest and canvas.left[position] > 0:
                self.starts[position + 1] = rest
                if canvas.state[position + 1] == SlotState.COMMITTED:
                    canvas.state[position + 1] = SlotState.OPEN


def constraints_for(model: CanvasModel, hole: Hole, canvas: Canvas, partial_word: str) -> Constraints:
    """Return the constraints of a hole whose first token must begin with `partial_word`."""
    info = model.info
    base = torch.zeros(info.vocabulary)
    base[model.vocabulary.never()] = FORBIDDEN
    line_ends, last = _none(), _none()
    if hole.max_lines == 1:
        breaking = model.vocabulary.breaks_line()
        if info.order is Order.LEFT_TO_RIGHT:
            # An autoregressive model ends a line with a line break, often in the same token as the last bracket.
            line_ends = model.vocabulary.breaks_line(at_once=True)
            breaking, last = line_ends, np.setdiff1d(breaking, line_ends)
        base[breaking] = FORBIDDEN
    if info.expand_id is not None:
        base[info.expand_id] = 0.0
    starts = {}
    if partial_word:
        for row in range(canvas.rows):
            first = canvas.span(row).start
            if canvas.state[first] == SlotState.OPEN:
                starts[first] = partial_word.encode()
    return Constraints(
        base.to(model.device),
        info.eos_id,
        starts,
        line_ends,
        last,
        expand_id=info.expand_id,
        most_slots=info.max_slots,
    )


def _allowed(model: CanvasModel, start: bytes, room: int) -> Ints:
    longer, shorter = model.vocabulary.completions_of(start)
    return np.concatenate([longer, shorter]) if room > 0 else longer
