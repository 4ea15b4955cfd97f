"""How many slots a hole may need, for models that do not say: usual lengths, and how sure the model is at each.

A model is surer of its first prediction where the length is right, once the length's own influence is taken out
(arXiv 2602.00476).
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, log_softmax

from infill_engine.canvas.canvas import Canvas
from infill_engine.models.base import ProposedLength
from infill_engine.types import HoleKind

Floats = NDArray[np.float64]

LENGTHS = (1, 2, 4, 8, 16, 32, 64)
USUAL = {HoleKind.EXPRESSION: 4, HoleKind.LINE: 8, HoleKind.STATEMENT: 8, HoleKind.BLOCK: 32}  # slots of such a hole
PROBE_WEIGHT = 2.0  # of a nat of confidence in a length against halving or doubling the usual one; set by hand
# What a length's confidence is compared with: how confident the model is at that length where nothing is to be known.
NEUTRAL = (("x = ", "\n"), ("def f(a, b):\n    ", "\n\n\ndef g():\n"), ("print(", ")\n"))


def lengths_up_to(most: int) -> tuple[int, ...]:
    return tuple(length for length in LENGTHS if length <= most)


def rank_lengths(lengths: Sequence[int], kind: HoleKind, gain: Floats | None, limit: int) -> list[ProposedLength]:
    """At most `limit` of `lengths`, the most probable first.

    By how usual they are for such a hole and, where `gain` [len(lengths)] says so, by how much surer the model is of
    each than elsewhere, in nats a slot.
    """
    scores = -np.abs(np.log2(lengths) - np.log2(USUAL[kind]))
    if gain is not None:
        scores = scores + PROBE_WEIGHT * gain
    logprobs = scores - np.log(np.exp(scores).sum())
    ranked = sorted(zip(lengths, logprobs.tolist(), strict=True), key=lambda pair: -pair[1])
    return [ProposedLength(slots, logprob) for slots, logprob in ranked[:limit]]


def confidence_of_rows(canvas: Canvas, logits: Tensor) -> Floats:
    """The mean log-probability of the best tokens of each row, [N], from logits [M, V] of all its slots."""
    best = log_softmax(logits, -1).amax(-1).cpu().numpy().astype(np.float64)
    return np.array([best[canvas.span(row)].mean() for row in range(canvas.rows)])


def usual_confidence(confidence: Callable[[str, str], Floats]) -> Floats:
    """How sure a model is at each length where nothing is to be known; `confidence` asks it about two sides."""
    usual: Floats = np.stack([confidence(*sides) for sides in NEUTRAL]).mean(0)
    return usual
