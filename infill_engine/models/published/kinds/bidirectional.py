"""Shared code of masked-diffusion models with full bidirectional attention on a stock backbone.

    [prefix | suffix | … padding …][ left neighbour | canvas row | … padding … ]      one line of the batch per row
     the context, in whole blocks    the tail: what changes from step to step

Attention depends on a token's position, not on its column, so the columns are arranged for efficient computation. The
context columns are the same for every row. The tail, a row's slots and the token left of the hole, comes last and can
be computed alone. Rows of different length are padded, the padding is masked, and a suffix is positioned right after
its own row's last slot.

Every step computes context and tail, and so does the length probe at every keystroke. Nothing is kept between them,
because every state depends on every slot.

A family is a `Description`: its file contains facts only. Logits for a slot are read at its own column or, with
`Shift.RIGHT`, at the one before it. A wrong shift raises no error, so every family's test shows that the other one
fails.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from infill_engine.budget.work import Job, Phase, Work
from infill_engine.errors import ModelDamagedError
from infill_engine.models.base import Context, Corruption, Ints, ModelInfo, ProposedLength
from infill_engine.models.canvas.canvas import Canvas, lay_out
from infill_engine.models.checkpoint.files import REMEDY
from infill_engine.models.kv_cache.layers import COLUMN_BLOCK, SLOT_BLOCK, rounded_up
from infill_engine.models.published.kinds.length_prior import (
    Floats,
    confidence_of_rows,
    lengths_up_to,
    rank_lengths,
    usual_confidence,
)
from infill_engine.models.runtime.tensors import to_device
from infill_engine.models.stock.decoder import Backbone, joined_ends
from infill_engine.models.stock.loader import Opened, Stock, load_backbone
from infill_engine.models.tokenizer import TokenizerVocabulary
from infill_engine.settings import USUAL_WINDOW, ModelSettings
from infill_engine.types import HoleKind


class Shift(StrEnum):
    """Where the logits of a slot are read."""

    NONE = "none"  # at the slot
    RIGHT = "right"  # at the preceding token, as in the autoregressive models these were made from


@dataclass(frozen=True, slots=True)
class Description:
    """The facts about one family.

    `mask` and `end` are token names; `ends` are further tokens that end a text. `begin` and `close`, if given, precede
    the prefix and follow the suffix. `expand` is the token that splits one slot into two. With `deletes`, the end token
    removes its slot.
    """

    name: str
    stock: Stock
    shift: Shift
    mask: str
    end: str
    ends: tuple[str, ...] = ()
    begin: str = ""
    close: str = ""
    expand: str = ""
    deletes: bool = False
    max_slots: int = 64


@dataclass(frozen=True, slots=True)
class Sides:
    """What `Context.state` holds here: the tokens of both sides and what was computed from them.

    `confidence` [len(LENGTHS)] is the model's confidence at each length, or None.
    """

    prefix: Ints
    suffix: Ints
    confidence: Floats | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a batch of N rows: tokens `ids`, their `places`, and which are `seen`, [N, F+T]; F is `fixed`."""

    ids: Tensor
    places: Tensor
    seen: Tensor
    fixed: int


class BidirectionalModel:
    """Implements `infill_engine.models.base.CanvasModel` for whatever a `Description` describes."""

    def __init__(
        self, description: Description, backbone: Backbone, vocabulary: TokenizerVocabulary, settings: ModelSettings
    ) -> None:
        self.vocabulary = vocabulary
        self.device = backbone.device
        self._description = description
        self._backbone = backbone
        self._tensor = to_device(backbone.device)
        self._settings = settings
        (mask,) = vocabulary.need(description.mask)
        vocabulary.ended_by(description.end)
        self._ends = [token for name in description.ends if (token := vocabulary.id_of(name)) is not None]
        self._before = vocabulary.need(description.begin) if description.begin else []
        self._behind = vocabulary.need(description.close) if description.close else []
        self._anchored = description.shift is Shift.RIGHT
        self.info = ModelInfo(
            description.name,
            Corruption.MASK,
            backbone.vocabulary,
            mask,
            vocabulary.end,
            description.max_slots,
            copies_end=False,
            expand_id=vocabulary.need(description.expand)[0] if description.expand else None,
            delete_id=vocabulary.end if description.deletes else None,
            # Every step computes the whole context, and a CPU has no time for a larger one.
            window=USUAL_WINDOW if backbone.device == "cpu" else settings.window,
        )
        self._last: Sides | None = None

    @classmethod
    def load(cls, description: Description, opened: Opened) -> "BidirectionalModel":
        """Load a checkpoint of the described family. Raises ModelError."""
        checkpoint, vocabulary = opened.checkpoint, opened.vocabulary
        (mask,), stated = vocabulary.need(description.mask), checkpoint.config.get("mask_token_id")
        if stated not in (None, mask):
            raise ModelDamagedError(
                f"{checkpoint.folder}: config.json says that the mask is token {stated}, and the tokenizer that "
                f"{description.mask} is {mask}; {REMEDY}"
            )
        return cls(description, load_backbone(opened, description.stock), vocabulary, opened.settings)

    @torch.inference_mode()
    def encode(self, prefix: str, suffix: str) -> Job[Context]:
        """Tokenise both sides and, if enabled, probe the lengths in one pass."""
        sides = self._sides(prefix, suffix)
        tokens, last, computed = len(sides.prefix) + len(sides.suffix), self._last, 0
        if last and np.array_equal(last.prefix, sides.prefix) and np.array_equal(last.suffix, sides.suffix):
            return Context(last, 0, tokens)
        if self._settings.probe_lengths:
            yield Work(Phase.READ, self._positions(sides, self._lengths))
            sides, computed = replace(sides, confidence=self._confidence(sides)), tokens
        self._last = sides
        return Context(sides, computed, tokens)

    def propose_lengths(self, context: Context, kind: HoleKind, limit: int) -> list[ProposedLength]:
        confidence = context.state.confidence
        gain = None if confidence is None else confidence - self._usual_confidence
        return rank_lengths(self._lengths, kind, gain, limit)

    def step_size(self, context: Context, lengths: Sequence[int], number: int) -> int:  # noqa: ARG002
        return self._positions(context.state, lengths)

    @torch.inference_mode()
    def denoise(self, context: Context, kind: HoleKind, canvas: Canvas, wanted: Ints) -> Tensor:  # noqa: ARG002
        layout = self._layout(context.state, canvas)
        visible = layout.seen[:, None, None, :].expand(-1, 1, layout.ids.shape[1], -1)
        states = self._backbone.states(layout.ids, layout.places, visible)[:, layout.fixed :]
        # Slot i is read at column i of the tail: its own if there is no left neighbour, otherwise the one before it.
        chosen = states[self._tensor(canvas.row[wanted]), self._tensor(canvas.index[wanted])]
        return joined_ends(self._backbone.logits(chosen), self.info.eos_id, self._ends)

    @cached_property
    def _lengths(self) -> tuple[int, ...]:
        return lengths_up_to(self.info.max_slots)

    @cached_property
    def _usual_confidence(self) -> Floats:
        return usual_confidence(lambda prefix, suffix: self._confidence(self._sides(prefix, suffix)))

    @torch.inference_mode()
    def _confidence(self, sides: Sides) -> Floats:
        """Return the mean log-probability of the best token of an all-open row, for each length."""
        canvas = lay_out(self._lengths, self.info.mask_id)
        logits = self.denoise(Context(sides, 0, 0), HoleKind.LINE, canvas, np.arange(canvas.slots))
        return confidence_of_rows(canvas, logits)

    def _sides(self, prefix: str, suffix: str) -> Sides:
        before = self.vocabulary.encode(prefix.replace("\r\n", "\n"))[-self._settings.prefix_tokens :]
        behind = self.vocabulary.encode(suffix.replace("\r\n", "\n"))[: self._settings.suffix_tokens]
        before = [*self._before, *before]
        if self._anchored and not before:
            before = [self.info.eos_id]  # texts are separated by this token in training, so it also starts one
        return Sides(np.array(before, np.int64), np.array([*behind, *self._behind], np.int64))

    def _tail(self, slots: int) -> int:
        return rounded_up(slots, SLOT_BLOCK) + self._anchored

    def _positions(self, sides: Sides, lengths: Sequence[int]) -> int:
        """Return how many positions a step computes."""
        context = len(sides.prefix) - self._anchored + len(sides.suffix)
        return len(lengths) * (rounded_up(context, COLUMN_BLOCK) + self._tail(max(lengths, default=1)))

    def _layout(self, sides: Sides, canvas: Canvas) -> Layout:
        rows, anchor = canvas.rows, int(self._anchored)
        own, left, right = len(sides.prefix) - anchor, len(sides.prefix), len(sides.suffix)
        fixed = rounded_up(own + right, COLUMN_BLOCK)
        width = fixed + self._tail(int(canvas.lengths.max()))
        ids = np.full((rows, width), self.info.mask_id, np.int64)
        places = np.zeros((rows, width), np.int64)
        seen = np.zeros((rows, width), bool)
        ids[:, :own], places[:, :own] = sides.prefix[:own], np.arange(own)
        ids[:, own : own + right] = sides.suffix
        places[:, own : own + right] = left + canvas.lengths[:, None] + np.arange(right)
        seen[:, : own + right] = True
        if anchor:
            ids[:, fixed], places[:, fixed], seen[:, fixed] = sides.prefix[-1], own, True
        column = fixed + anchor + canvas.index
        ids[canvas.row, column], places[canvas.row, column] = canvas.ids, left + canvas.index
        seen[canvas.row, column] = True
        return Layout(self._tensor(ids), self._tensor(places), self._tensor(seen), fixed)
