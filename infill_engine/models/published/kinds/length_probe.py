"""Estimates the number of slots of a hole for models without a length head: usual lengths and the model's confidence.

A model is more confident of its first prediction if the length is right, once the effect of the length itself is
removed (arXiv 2602.00476).
"""

from collections.abc import Callable
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, log_softmax

from infill_engine.models.base import ProposedLength
from infill_engine.models.canvas.canvas import Canvas, lay_out
from infill_engine.types import HoleKind

Floats = NDArray[np.float64]
Hidden = TypeVar("Hidden")

LENGTHS = (1, 2, 4, 8, 16, 32, 64)
USUAL = {HoleKind.EXPRESSION: 4, HoleKind.LINE: 8, HoleKind.STATEMENT: 8, HoleKind.BLOCK: 32}  # slots of such a hole
PROBE_WEIGHT = 2.0  # weight of one nat of confidence relative to a factor of two from the usual length; set by hand
# The baseline for a length's confidence: the model's confidence at that length in contexts that say nothing about the
# hole.
NEUTRAL = (("x = ", "\n"), ("def f(a, b):\n    ", "\n\n\ndef g():\n"), ("print(", ")\n"))


class LengthProbe(Generic[Hidden]):
    """Asks a model for its confidence at each of `lengths`, at most `most_slots`.

    `read` encodes two sides. `predict` returns the logits [M, V] of all slots of an open canvas between such sides.
    """

    def __init__(
        self,
        most_slots: int,
        mask_id: int,
        read: Callable[[str, str], Hidden],
        predict: Callable[[Hidden, Canvas], Tensor],
    ) -> None:
        self.lengths = tuple(length for length in LENGTHS if length <= most_slots)
        self._mask_id = mask_id
        self._read = read
        self._predict = predict

    @torch.inference_mode()
    def confidence(self, state: Hidden) -> Floats:
        """Return the mean log-probability of the best tokens of an open row, for each length."""
        canvas = lay_out(self.lengths, self._mask_id)
        best = log_softmax(self._predict(state, canvas), -1).amax(-1).cpu().numpy().astype(np.float64)
        return np.array([best[canvas.span(row)].mean() for row in range(canvas.rows)])

    def propose(self, kind: HoleKind, confidence: Floats | None, limit: int) -> list[ProposedLength]:
        """Return at most `limit` lengths, most probable first.

        Ranked by how usual they are for such a hole and, if there was time to ask for it, by the model's extra
        `confidence` in each, in nats per slot.
        """
        scores = -np.abs(np.log2(self.lengths) - np.log2(USUAL[kind]))
        if confidence is not None:
            scores = scores + PROBE_WEIGHT * (confidence - self._usual_confidence)
        logprobs = scores - np.log(np.exp(scores).sum())
        ranked = sorted(zip(self.lengths, logprobs.tolist(), strict=True), key=lambda pair: -pair[1])
        return [ProposedLength(slots, logprob) for slots, logprob in ranked[:limit]]

    @cached_property
    def _usual_confidence(self) -> Floats:
        usual: Floats = np.stack([self.confidence(self._read(*sides)) for sides in NEUTRAL]).mean(0)
        return usual
