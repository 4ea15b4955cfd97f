"""What may stand where: hard masks over the vocabulary, known before the model is asked."""

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from infill_engine.canvas.canvas import Canvas, State
from infill_engine.models.base import Ints, ModelFamily
from infill_engine.types import Hole

FORBIDDEN = -1e9  # finite: a row of a softmax must not be empty


@dataclass(slots=True)
class Rules:
    """Masks of one hole. `base` [V] holds everywhere; `starts` maps flat positions to the bytes they must continue.

    A start shrinks from slot to slot: a token that is itself a beginning of the word hands the rest to the next slot.
    """

    base: Tensor
    eos_id: int
    mask_id: int
    starts: dict[int, bytes] = field(default_factory=dict)

    def waits(self, position: int) -> bool:
        """Whether the slot must wait for the one before it, whose token decides what this one must begin with."""
        return position - 1 in self.starts

    def apply(self, family: ModelFamily, logits: Tensor, canvas: Canvas, wanted: list[int]) -> Tensor:
        """Masks logits [W, V] of the flat positions `wanted`."""
        logits = logits + self.base
        for number, position in enumerate(wanted):
            start = self.starts.get(position)
            if start is not None:
                allowed = _allowed(family, start, room=int(canvas.left[position]))
                if len(allowed):
                    kept = logits[number, allowed].clone()
                    logits[number] = FORBIDDEN
                    logits[number, allowed] = kept
            elif canvas.index[position] == 0:
                logits[number, self.eos_id] = FORBIDDEN  # an empty text is no candidate
        return logits

    def advance(self, family: ModelFamily, canvas: Canvas) -> None:
        """Hands what is left of a word's beginning to the next slot once the slot before it is decided."""
        for position, start in list(self.starts.items()):
            if canvas.state[position] == State.OPEN:
                continue
            del self.starts[position]
            canvas.state[position] = State.FIXED
            rest = start[len(family.vocabulary.bytes_of(int(canvas.ids[position]))) :]
            if rest and canvas.left[position] > 0:
                self.starts[position + 1] = rest
                if canvas.state[position + 1] == State.COMMITTED:
                    canvas.state[position + 1] = State.OPEN


def rules_for(family: ModelFamily, hole: Hole, canvas: Canvas, partial_word: str) -> Rules:
    """The rules of a hole whose first token must begin with `partial_word`."""
    base = torch.zeros(family.spec.vocabulary)
    base[family.vocabulary.never()] = FORBIDDEN
    if hole.max_lines == 1:
        base[family.vocabulary.breaks_line()] = FORBIDDEN
    starts = {}
    if partial_word:
        for row in range(canvas.rows):
            first = canvas.span(row).start
            if canvas.state[first] == State.OPEN:
                starts[first] = partial_word.encode()
    return Rules(base.to(family.device), family.spec.eos_id, family.spec.mask_id, starts)


def _allowed(family: ModelFamily, start: bytes, room: int) -> Ints:
    longer, shorter = family.vocabulary.completions_of(start)
    return np.concatenate([longer, shorter]) if room > 0 else longer
