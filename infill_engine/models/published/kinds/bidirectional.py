"""Shared code of masked-diffusion models with full bidirectional attention on a stock backbone.

    prefix | canvas row | suffix | … padding …       one line of the batch per row

Every step computes both sides and all rows, and so does the length probe at every keystroke. Nothing is kept between
them, because every state depends on every slot. Rows of different length are padded at their end, and the padding is
masked.

A family is a `Description`: its file contains facts only. Logits for a slot are read at its own position or, with
`LogitShift.RIGHT`, at the one before it. A wrong shift raises no error, so every family's test shows that the other one
fails.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import torch
from torch import Tensor

from infill_engine.budget.work import Job, Phase, Work
from infill_engine.errors import ModelDamagedError
from infill_engine.models.base import Context, Ints, ModelInfo, ProposedLength
from infill_engine.models.canvas.canvas import Canvas
from infill_engine.models.checkpoint.files import REMEDY
from infill_engine.models.published.kinds.length_probe import Floats, LengthProbe
from infill_engine.models.stock.decoder import Backbone, joined_ends, to_device
from infill_engine.models.stock.loader import Opened, Stock, load_backbone
from infill_engine.models.tokenizer import TokenizerVocabulary
from infill_engine.settings import USUAL_WINDOW, ModelSettings
from infill_engine.types import HoleKind

MOST_SLOTS = 64


class LogitShift(StrEnum):
    """Where the logits of a slot are read."""

    NONE = "none"  # at the slot
    RIGHT = "right"  # at the preceding token, as in the autoregressive models these were made from


@dataclass(frozen=True, slots=True)
class Description:
    """The facts about one family.

    `mask` and `end` are token names; `ends` are further tokens that end a text. `begin` and `close`, if given, precede
    the prefix and follow the suffix. `expand` is the token that splits one slot into two. Where there is one, the end
    token removes its slot.
    """

    name: str
    stock: Stock
    shift: LogitShift
    mask: str
    end: str
    ends: tuple[str, ...] = ()
    begin: str = ""
    close: str = ""
    expand: str = ""


@dataclass(frozen=True, slots=True)
class Sides:
    """What `Context.state` holds here: the tokens of both sides, and the model's `confidence` at each length."""

    prefix: Ints
    suffix: Ints
    confidence: Floats | None = None


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
        self._shift = int(description.shift is LogitShift.RIGHT)
        self.info = ModelInfo(
            description.name,
            backbone.vocabulary,
            mask,
            vocabulary.end,
            MOST_SLOTS,
            copies_end=False,
            expand_id=vocabulary.need(description.expand)[0] if description.expand else None,
            # Every step computes the whole context, and a CPU has no time for a larger one.
            window=USUAL_WINDOW if backbone.device == "cpu" else settings.window,
        )
        self._probe = LengthProbe(MOST_SLOTS, mask, self._sides, self._logits)
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
        """Tokenise both sides and probe the lengths in one pass."""
        sides = self._sides(prefix, suffix)
        tokens, last = len(sides.prefix) + len(sides.suffix), self._last
        if last and np.array_equal(last.prefix, sides.prefix) and np.array_equal(last.suffix, sides.suffix):
            return Context(last, 0, tokens)
        yield Work(Phase.READ, _positions(tokens, self._probe.lengths))
        self._last = replace(sides, confidence=self._probe.confidence(sides))
        return Context(self._last, tokens, tokens)

    def propose_lengths(self, context: Context, kind: HoleKind, limit: int) -> list[ProposedLength]:
        return self._probe.propose(kind, context.state.confidence, limit)

    def step_size(self, context: Context, lengths: Sequence[int]) -> int:
        return _positions(context.tokens, lengths)

    @torch.inference_mode()
    def denoise(self, context: Context, canvas: Canvas, wanted: Ints) -> Tensor:
        return self._logits(context.state, canvas, wanted)

    def _logits(self, sides: Sides, canvas: Canvas, wanted: Ints | None = None) -> Tensor:
        """Return logits [W, V] of the slots `wanted`, or of all slots of the canvas."""
        left, right = len(sides.prefix), len(sides.suffix)
        ends = left + canvas.lengths[:, None]  # [N, 1]
        places = np.tile(np.arange(int(ends.max()) + right), (canvas.rows, 1))
        ids = np.full(places.shape, self.info.mask_id)
        ids[:, :left] = sides.prefix
        ids[canvas.row, left + canvas.index] = canvas.ids
        ids[np.arange(canvas.rows)[:, None], ends + np.arange(right)] = sides.suffix
        seen = self._tensor(places < ends + right)[:, None, None, :].expand(-1, 1, places.shape[1], -1)
        states = self._backbone.states(self._tensor(ids), self._tensor(places), seen)
        rows, columns = canvas.row, left + canvas.index - self._shift
        if wanted is not None:
            rows, columns = rows[wanted], columns[wanted]
        logits = self._backbone.logits(states[self._tensor(rows), self._tensor(columns)])
        return joined_ends(logits, self.info.eos_id, self._ends)

    def _sides(self, prefix: str, suffix: str) -> Sides:
        before = self.vocabulary.encode(prefix.replace("\r\n", "\n"))[-self._settings.prefix_tokens :]
        behind = self.vocabulary.encode(suffix.replace("\r\n", "\n"))[: self._settings.suffix_tokens]
        before = [*self._before, *before]
        if self._shift and not before:
            before = [self.info.eos_id]  # texts are separated by this token in training, so it also starts one
        return Sides(np.array(before, np.int64), np.array([*behind, *self._behind], np.int64))


def _positions(context: int, lengths: Sequence[int]) -> int:
    """Return how many positions a step over rows of these lengths computes, `context` tokens in each."""
    return len(lengths) * (context + max(lengths, default=1))
