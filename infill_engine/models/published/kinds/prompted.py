"""Models that write rows in order after a prompt with both sides of the hole: autoregressive, or block diffusion.

    <prefix> lines above <suffix> text right <middle> line so far ──▶ first slot ──▶ second slot ──▶ … ──▶ end

A token sees all blocks before its own and all of its own, so the text right of a hole can only be part of the prompt.
An autoregressive model's blocks are single tokens, and the logits of a slot are those after the token before it. A
masked-diffusion model reads them at the slot itself, with the later slots of its block masked. It was trained to decide
slots in this order among others, and here each prediction has the most to depend on.

Both kinds run in the same loop as every other family. Their order is `LEFT_TO_RIGHT`, so the loop requests the first
open slot of each row; a copied text is read and verified in one step. A row has no fixed length: it ends where the
model says so. All rows share one axis and the prompt's keys and values.

The keys and values of the unchanged part of the prompt are kept across keystrokes, in whole blocks. If the suffix comes
first (SPM), that is everything except the last tokens. If the prefix comes first (PSM), the middle begins with the
cursor's line, and the prompt stays reusable as long as the user types on that line.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from infill_engine.budget.work import Job
from infill_engine.models.base import Context, Ints, ModelInfo, Order, ProposedLength
from infill_engine.models.canvas.canvas import Canvas
from infill_engine.models.published.fim_tokens import FimTokens
from infill_engine.models.published.kinds.prompts import PromptReader, other_ends, prompt_of
from infill_engine.models.stock.decoder import Backbone, LayerMemory, Placed, Remembered, joined_ends, to_device
from infill_engine.models.tokenizer import TokenizerVocabulary
from infill_engine.settings import ModelSettings
from infill_engine.types import HoleKind

MOST_SLOTS = 128


@dataclass(slots=True)
class PromptMemory:
    """What `Context.state` holds here: keys and values of the prompt's whole blocks, and the tokens after them.

    A row's tokens are this `rest` and its slots. `memory` has columns for the whole blocks and for all rows, one after
    the other. `ids` [N, L] are the tokens of the rows, of which the first `counts` [N] of each have been computed.
    """

    layers: Sequence[LayerMemory]
    length: int
    rest: Ints
    memory: Placed | None = None
    ids: Ints = field(default_factory=lambda: np.empty((0, 0), np.int64))
    counts: Ints = field(default_factory=lambda: np.empty(0, np.int64))


class PromptedModel:
    """Implements `infill_engine.models.base.CanvasModel`.

    `mask` is the token of an open slot; None for an autoregressive model, which never reads one. `block` is the number
    of tokens that see each other.
    """

    def __init__(
        self,
        fim: FimTokens,
        backbone: Backbone,
        vocabulary: TokenizerVocabulary,
        settings: ModelSettings,
        mask: int | None = None,
        block: int = 1,
    ) -> None:
        self.vocabulary = vocabulary
        self.device = backbone.device
        self._fim = fim
        self._backbone = backbone
        self._tensor = to_device(backbone.device)
        self._settings = settings
        self._block = block
        self._shift = int(mask is None)
        vocabulary.ended_by(fim.end)
        self._ends = other_ends(fim, vocabulary)
        self.info = ModelInfo(
            fim.name,
            backbone.vocabulary,
            vocabulary.end if mask is None else mask,
            vocabulary.end,
            MOST_SLOTS,
            order=Order.LEFT_TO_RIGHT,
            window=settings.window,
        )
        self._prompts = PromptReader(self._read, block=block)

    @torch.inference_mode()
    def encode(self, prefix: str, suffix: str) -> Job[Context]:
        ids = prompt_of(self._fim, self.vocabulary, self._settings, prefix, suffix)
        whole = self._whole_blocks(len(ids) - self._shift)
        layers, read = yield from self._prompts.layers_of(ids[:whole])
        return Context(PromptMemory(layers, whole, ids[whole:]), read, len(ids))

    def propose_lengths(self, context: Context, kind: HoleKind, limit: int) -> list[ProposedLength]:  # noqa: ARG002
        """Propose the maximum number of slots: a row ends by itself."""
        return [ProposedLength(self.info.max_slots, 0.0)]

    def step_size(self, context: Context, lengths: Sequence[int]) -> int:  # noqa: ARG002
        return self._block * len(lengths)

    @torch.inference_mode()
    def denoise(self, context: Context, canvas: Canvas, wanted: Ints) -> Tensor:
        prompt: PromptMemory = context.state
        tokens = self._row_tokens(prompt, canvas)
        memory = self._memory(prompt, tokens)
        rows, width = tokens.shape
        row, read_at = canvas.row[wanted], len(prompt.rest) - self._shift + canvas.index[wanted]
        first, beyond = np.full(rows, width), np.zeros(rows, np.int64)
        np.minimum.at(first, row, self._whole_blocks(read_at))
        np.maximum.at(beyond, row, self._whole_blocks(read_at) + self._block)
        start = np.minimum(np.minimum(prompt.counts, first), beyond)
        index = np.concatenate([np.arange(*each) for each in zip(start, beyond, strict=True)])
        of_row = np.repeat(np.arange(rows), beyond - start)
        memory.columns = self._tensor(prompt.length + of_row * width + index)[None]
        of_rows = np.arange(rows * width)
        visible = np.ones((len(index), prompt.length + len(of_rows)), bool)
        visible[:, prompt.length :] = of_row[:, None] == of_rows // width
        visible[:, prompt.length :] &= index[:, None] // self._block >= of_rows % width // self._block
        states = self._backbone.states(
            self._tensor(tokens[of_row, index])[None],
            self._tensor(prompt.length + index)[None],
            self._tensor(visible)[None, None],
            memory,
        )[0]
        prompt.ids, prompt.counts = tokens, np.where(beyond, beyond, prompt.counts)
        chosen = (np.cumsum(beyond - start) - beyond)[row] + read_at
        return joined_ends(self._backbone.logits(states[self._tensor(chosen)]), self.info.eos_id, self._ends)

    def _row_tokens(self, prompt: PromptMemory, canvas: Canvas) -> Ints:
        """Return the tokens of each row up to the end of a block [N, L]; an autoregressive model needs no last one."""
        rest = len(prompt.rest)
        width = self._whole_blocks(rest - self._shift + int(canvas.lengths.max()) - 1) + self._block
        tokens = np.full((canvas.rows, width), self.info.mask_id)
        tokens[:, :rest] = prompt.rest
        inner = rest + canvas.index < width
        tokens[canvas.row[inner], rest + canvas.index[inner]] = canvas.ids[inner]
        return tokens

    def _memory(self, prompt: PromptMemory, tokens: Ints) -> Placed:
        """Return columns for prompt and rows. Blocks with tokens other than `tokens` count as not computed."""
        if prompt.memory is not None and prompt.ids.shape == tokens.shape:
            same = np.cumprod(prompt.ids == tokens, 1).sum(1)
            prompt.counts = np.minimum(prompt.counts, self._whole_blocks(same))
            return prompt.memory
        prompt.memory, prompt.counts = (
            Placed(prompt.layers, prompt.length + tokens.size),
            np.zeros(len(tokens), np.int64),
        )
        return prompt.memory

    def _read(self, layers: Sequence[LayerMemory], ids: Ints) -> list[LayerMemory]:
        memory, past = Remembered(layers), layers[0][0].shape[2] if layers else 0
        places = np.arange(past, past + len(ids))
        visible = np.arange(past + len(ids)) // self._block <= places[:, None] // self._block
        self._backbone.states(
            self._tensor(ids)[None], self._tensor(places)[None], self._tensor(visible)[None, None], memory
        )
        return memory.layers

    def _whole_blocks(self, tokens: Any) -> Any:
        """Return how many of so many tokens, a number or an array of numbers, are in whole blocks."""
        return tokens // self._block * self._block
