"""The interface of canvas models: what the denoising loop requires of a network.

A family turns text into tokens, encodes a hole's two sides once, proposes lengths for the hole, and predicts the open
slots of a canvas whenever asked. Shifts, masks and special tokens are handled only inside the family.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from infill_engine.budget.work import Job
from infill_engine.models.canvas.canvas import Canvas
from infill_engine.models.tokenizer import TokenizerVocabulary
from infill_engine.settings import USUAL_WINDOW, WindowSettings
from infill_engine.types import HoleKind

if TYPE_CHECKING:
    from torch import Tensor

Ints = NDArray[np.int64]


class NoNumbersError(ArithmeticError):
    """The network's activations overflow its precision: all logits of a position are NaN."""


class Order(StrEnum):
    """In which order the slots of a row are decided."""

    CONFIDENCE = "confidence"  # any slot, the most confident ones first; an open one holds a mask token
    LEFT_TO_RIGHT = "left_to_right"  # each slot's prediction depends only on the slots before it


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """The facts about a family that the denoising loop needs.

    A row that is longer than its text ends in `eos_id`. If `copies_end` is false, a copied text gets no `eos_id`,
    because the model reads the text after it. If there is an `expand_id`, a slot decided as that token becomes two open
    slots, and one decided as `eos_id` is removed: such rows change their length between two steps. `window` is how much
    text around a hole the model can use.
    """

    name: str
    vocabulary: int  # width of the logits
    mask_id: int
    eos_id: int
    max_slots: int
    branches: bool = True  # whether rows beyond the proposed lengths are worth trying
    order: Order = Order.CONFIDENCE
    copies_end: bool = True
    expand_id: int | None = None
    window: WindowSettings = USUAL_WINDOW


@dataclass(frozen=True, slots=True)
class ProposedLength:
    """A canvas length in slots and its natural log-probability."""

    slots: int
    logprob: float


@dataclass(frozen=True, slots=True)
class Context:
    """Both sides of a hole, encoded. `state` belongs to the family; `encoded` counts the tokens not found cached."""

    state: Any
    encoded: int
    tokens: int


class CanvasModel(Protocol):
    """A loaded model that denoises a canvas, or fills it in order."""

    @property
    def info(self) -> ModelInfo: ...

    @property
    def vocabulary(self) -> TokenizerVocabulary: ...

    @property
    def device(self) -> str: ...

    def encode(self, prefix: str, suffix: str) -> Job[Context]:
        """Encode both sides, reusing keys and values of earlier calls where their tokens agree.

        Reads about a hundred tokens at a time. What was encoded before OutOfTime need not be encoded again.
        """
        ...

    def propose_lengths(self, context: Context, kind: HoleKind, limit: int) -> list[ProposedLength]:
        """At most `limit` lengths, the most probable first, none above the family's `max_slots`."""
        ...

    def step_size(self, context: Context, lengths: Sequence[int]) -> int:
        """How many positions a step computes over rows of `lengths` slots; its cost grows with this."""
        ...

    def denoise(self, context: Context, canvas: Canvas, wanted: Ints) -> "Tensor":
        """One denoising step: logits [len(wanted), V], in float32, of the flat canvas positions `wanted`."""
        ...
