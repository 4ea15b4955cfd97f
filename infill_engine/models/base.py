"""What every model family offers: the one interface between the denoising loop and a network.

A family turns text into tokens, encodes a hole's two sides once, proposes lengths for the hole, and predicts the open
slots of a canvas as often as it is asked. Shifts, masks and special tokens live in the family and nowhere else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from infill_engine.canvas.canvas import Canvas
from infill_engine.canvas.corruption import Corruptor
from infill_engine.context.ngrams import Ngrams
from infill_engine.settings import USUAL_WINDOW, WindowSettings
from infill_engine.types import HoleKind
from infill_engine.work import Job

Ints = NDArray[np.int64]


class Corruption(StrEnum):
    """What an undecided slot holds: a mask token, or a token drawn at random."""

    MASK = "mask"
    UNIFORM = "uniform"


class Order(StrEnum):
    """In which order the slots of a row may be decided."""

    ANY = "any"
    LEFT_TO_RIGHT = "left_to_right"  # each slot's prediction rests on those before it, and on none after


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """The facts about a family that the denoising loop needs.

    A row that is longer than its text ends in `eos_id`; where `copies_end` is false, a copied text is not given one,
    because the model reads on behind it. Logits are divided by a temperature that goes from the first to the second of
    `temperatures` while a canvas is denoised. A slot that comes out as `delete_id` vanishes, one that comes out as
    `expand_id` becomes two open ones: between two steps such rows change their length. `window` is the text around a
    hole that the model has a use for. `profile` tells how it computes, such as `int8, 1 thread`, where that was chosen.
    """

    name: str
    corruption: Corruption
    vocabulary: int  # width of the logits
    mask_id: int
    eos_id: int
    max_slots: int
    branches: bool = True  # whether rows beyond the proposed lengths are worth trying
    order: Order = Order.ANY
    copies_end: bool = True
    temperatures: tuple[float, float] = (1.0, 1.0)
    expand_id: int | None = None
    delete_id: int | None = None
    window: WindowSettings = USUAL_WINDOW
    profile: str = ""


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


@dataclass(frozen=True, slots=True)
class ModelDraft:
    """A text written from left to right.

    `logprobs` are the natural log-probabilities of `tokens` and, behind them, of the text's end.
    """

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]

    @property
    def logprob(self) -> float:
        """Of all of it."""
        return sum(self.logprobs)


class Vocabulary(Protocol):
    """Text to tokens and back. Token bytes concatenate to the text's UTF-8."""

    def encode(self, text: str) -> list[int]: ...

    def decode(self, ids: Sequence[int]) -> str | None:
        """The text of `ids`, or None when they hold a special token or end inside a character."""
        ...

    def split_partial_word(self, prefix: str) -> tuple[str, str]:
        """Cuts `prefix` before the cursor's word: what to encode, and what the first token must begin with."""
        ...

    def completions_of(self, start: bytes) -> tuple[Ints, Ints]:
        """Tokens whose bytes begin with `start`, and tokens that are themselves a proper beginning of it."""
        ...

    def bytes_of(self, token: int) -> bytes: ...

    def breaks_line(self, *, at_once: bool = False) -> Ints:
        """Tokens that contain a line break; with `at_once` only those with nothing but blanks before it."""
        ...

    def never(self) -> Ints:
        """Special tokens that may not stand in a text. The end-of-hole token is not among them."""
        ...


class Model(Protocol):
    """What the engine needs to know of any loaded model."""

    @property
    def info(self) -> ModelInfo: ...

    @property
    def vocabulary(self) -> Vocabulary: ...

    @property
    def device(self) -> str: ...


class CanvasModel(Model, Protocol):
    """A loaded model that denoises a canvas, or writes it in order."""

    def encode(self, prefix: str, suffix: str) -> Job[Context]:
        """Encodes both sides, reusing keys and values of earlier calls where their tokens agree.

        Reads a hundred tokens or so at a time. What was encoded before OutOfTime need not be encoded again.
        """
        ...

    def propose_lengths(self, context: Context, kind: HoleKind, limit: int) -> list[ProposedLength]:
        """At most `limit` lengths, the most probable first, none above the family's `max_slots`."""
        ...

    def denoise(self, context: Context, kind: HoleKind, canvas: Canvas, wanted: Ints) -> Tensor:
        """One denoising step: logits [len(wanted), V], in float32, of the flat canvas positions `wanted`."""
        ...


@runtime_checkable
class WritesDrafts(Protocol):
    """What a family may offer besides: drafts of its own, from a stream that is a language model by itself."""

    def prompt(self, context: Context) -> Job[Any]:
        """What `write_drafts` goes on from."""
        ...

    def write_drafts(self, prompt: Any, partial_word: str, right: str, limit: int) -> Job[list[ModelDraft]]:
        """At most `limit` texts from the cursor to `right`, the likeliest first, each beginning with `partial_word`.

        `right` is what stands right of the cursor on its line; where that is blank they are ends of the line.

        What is not finished when time runs out is left out.
        """
        ...

    def count(self, around: tuple[str, str]) -> Job[Ngrams]:
        """Counts of what stands left of the cursor's word and right of the hole, which is more than was encoded.

        Lines that were counted before are kept.
        """
        ...

    def score(
        self,
        prompt: Any,
        partial_word: str,
        right: str,
        texts: Sequence[str],
        near: Ngrams,
        project: Ngrams | None,
    ) -> Job[list[float]]:
        """The log-probability of each text and of its end, beginning with `partial_word`, which none of them holds.

        `right` is as for `write_drafts`. How the text goes on after the same tokens counts too: `near` the hole, and
        elsewhere in the `project`.
        """
        ...


@runtime_checkable
class CountsWork(Protocol):
    """What a family offers whose steps compute something else than the slots of the canvas."""

    def step_size(self, context: Context, lengths: Sequence[int], number: int) -> int:
        """How many positions step `number` (from 0) over rows of so many slots computes: what its cost grows with."""
        ...


@runtime_checkable
class ConditionsItself(Protocol):
    """What a family offers that is told in a step what it predicted in the one before (self-conditioning)."""

    def condition(self, context: Context, canvas: Canvas, wanted: Ints, logits: Tensor) -> None:
        """Takes the logits [len(wanted), V] of the last step as they were decided by, with all rules applied.

        `canvas` is still as that step saw it. What is not in `wanted` is given: its token is all there is to tell.
        """
        ...


def corruptor_of(info: ModelInfo, rows: int, seed: int) -> Corruptor:
    """What the open slots of a canvas of `rows` rows hold for this family."""
    return Corruptor(info.mask_id if info.corruption is Corruption.MASK else None, info.vocabulary, rows, seed)


def step_size(family: CanvasModel, context: Context, lengths: Sequence[int], number: int) -> int:
    """How many positions a step computes: what the family counts, or else the slots."""
    return family.step_size(context, lengths, number) if isinstance(family, CountsWork) else sum(lengths)
