"""Estimates the number of slots of a hole for models without a length head: usual lengths and the model's confidence.

A model is more confident of its first prediction if the length is right, once the effect of the length itself is
removed (arXiv 2602.00476).
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, log_softmax

from infill_engine.models.base import ProposedLength
from infill_engine.models.canvas.canvas import Canvas
from infill_engine.types import HoleKind

Floats = NDArray[np.float64]

LENGTHS = (1, 2, 4, 8, 16, 32, 64)
USUAL = {HoleKind.EXPRESSION: 4, HoleKind.LINE: 8, HoleKind.STATEMENT: 8, HoleKind.BLOCK: 32}  # slots of such a hole
PROBE_WEIGHT = 2.0  # weight of one nat of confidence relative to a factor of two from the usual length; set by hand
# The baseline for a length's confidence: the model's confidence at that length in contexts that say nothing about the
# hole.
NEUTRAL = (("x = ", "\n"), ("def f(a, b):\n    ", "\n\n\ndef g():\n"), ("print(", ")\n"))


def lengths_up_to(most: int) -> tuple[int, ...]:
    return tuple(length for length in LENGTHS if length <= most)


def rank_lengths(lengths: Sequence[int], kind: HoleKind, gain: Floats | None, limit: int) -> list[ProposedLength]:
    """Return at most `limit` of `lengths`, most probable first.

    Ranked by how usual they are for such a hole and, if `gain` [len(lengths)] is given, by the model's extra confidence
    in each, in nats per slot.
    """
    scores = -np.abs(np.log2(lengths) - np.log2(USUAL[kind]))
    if gain is not None:
        scores = scores + PROBE_WEIGHT * gain
    logprobs = scores - np.log(np.exp(scores).sum())
    ranked = sorted(zip(lengths, logprobs.tolist(), strict=True), key=lambda pair: -pair[1])
    return [ProposedLength(slots, logprob) for slots, logprob in ranked[:limit]]


def confidence_of_rows(canvas: Canvas, logits: Tensor) -> Floats:
    """Return the mean log-probability of the best tokens of each row, [N], from logits [M, V] of all its slots."""
    best = log_softmax(logits, -1).amax(-1).cpu().numpy().astype(np.float64)
    return np.array([best[canvas.span(row)].mean() for row in range(canvas.rows)])


def usual_confidence(confidence: Callable[[str, str], Floats]) -> Floats:
    """Return a model's confidence at each length in neutral contexts. `confidence` evaluates it for two sides."""
    usual: Floats = np.stack([confidence(*sides) for sides in NEUTRAL]).mean(0)
    return usual
