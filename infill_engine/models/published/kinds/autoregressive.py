"""Autoregressive fill-in-the-middle models on a stock backbone. The prompt is read once; rows are generated in order.

    <prefix> lines above <suffix> text right <middle> line so far ──▶ first slot ──▶ second slot ──▶ … ──▶ end

They run in the same loop as every other family. Their order is `LEFT_TO_RIGHT`, so the loop requests the first open
slot of each row; a copied text is read and verified in one step. A row has no fixed length: it ends where the model
says so. Candidates are rows of one batch that differ by branch or by sampling, and share the prompt's keys and values.

The keys and values of the unchanged part of the prompt are kept across keystrokes. If the suffix comes first (SPM),
that is everything except the last tokens. If the prefix comes first (PSM), the middle begins with the cursor's line,
and the prompt stays reusable as long as the user types on that line. A family is a `Recipe`; all of them are in
`infill_engine.models.published.fim`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from infill_engine.budget.work import Job
from infill_engine.models.base import (
    Context,
    Corruption,
    Ints,
    ModelInfo,
    Order,
    ProposedLength,
)
from infill_engine.models.canvas.canvas import Canvas
from infill_engine.models.checkpoint.files import require_no_code
from infill_engine.models.published.fim_tokens import FimTokens
from infill_engine.models.published.kinds.prompts import PromptReader, other_ends, prompt_of, seen_left
from infill_engine.models.runtime.tensors import to_device
from infill_engine.models.stock.decoder import Backbone, LayerMemory, Placed, Remembered, joined_ends
from infill_engine.models.stock.loader import Opened, Stock, load_backbone
from infill_engine.models.tokenizer import TokenizerVocabulary
from infill_engine.settings import ModelSettings
from infill_engine.types import HoleKind

MOST_SLOTS = 128


@dataclass(frozen=True, slots=True)
class Recipe:
    """The prompt format of one family, its possible model types in config.json, and the network it runs on."""

    fim: FimTokens
    model_types: tuple[str, ...]
    stock: Stock


@dataclass(slots=True)
class Prompt:
    """What `Context.state` holds here: keys and values of the prompt without its last token, and of the rows.

    A row's tokens are the prompt's `last` token followed by its slots: the logits of slot i are those after its token
    i. `rows` holds prompt and rows in columns. `ids` [N, L] are their tokens, of which the first `counts` of each row
    are valid.
    """

    layers: Sequence[LayerMemory]
    last: int
    length: int
    rows: Placed | None = None
    ids: Ints = field(default_factory=lambda: np.empty((0, 0), np.int64))
    counts: Ints = field(default_factory=lambda: np.empty(0, np.int64))


class AutoregressiveModel:
    """Implements `infill_engine.models.base.CanvasModel` for whatever a `Recipe` describes."""

    def __init__(
        self,
        recipe: Recipe,
        backbone: Backbone,
        vocabulary: TokenizerVocabulary,
        settings: ModelSettings,
    ) -> None:
        self.vocabulary = vocabulary
        self.device = backbone.device
        self._recipe = recipe
        self._backbone = backbone
        self._tensor = to_device(backbone.device)
        self._settings = settings
        fim = recipe.fim
        vocabulary.need(*fim.tokens)
        vocabulary.ended_by(fim.end)
        self._ends = other_ends(fim, vocabulary)
        self.info = ModelInfo(
            fim.name,
            Corruption.MASK,
            backbone.vocabulary,
            vocabulary.end,  # an open slot's token is never read
            vocabulary.end,
            MOST_SLOTS,
            order=Order.LEFT_TO_RIGHT,
            window=settings.window,
        )
        self._prompts = PromptReader(self._read)

    @classmethod
    def load(cls, recipe: Recipe, opened: Opened) -> "AutoregressiveModel":
        """Load a checkpoint of the described family. Raises ModelError."""
        opened.vocabulary.need(*recipe.fim.tokens, recipe.fim.end)
        require_no_code(opened.checkpoint.config, opened.checkpoint.folder)
        return cls(recipe, load_backbone(opened, recipe.stock), opened.vocabulary, opened.settings)

    @torch.inference_mode()
    def encode(self, prefix: str, suffix: str) -> Job[Context]:
        ids = prompt_of(self._recipe.fim, self.vocabulary, self._settings, prefix, suffix)
        layers, read = yield from self._prompts.layers_of(ids[:-1])
        return Context(Prompt(layers, int(ids[-1]), len(ids) - 1), read, len(ids))

    def propose_lengths(self, context: Context, kind: HoleKind, limit: int) -> list[ProposedLength]:  # noqa: ARG002
        """Propose the maximum number of slots: a row ends by itself."""
        return [ProposedLength(self.info.max_slots, 0.0)]

    def step_size(self, context: Context, lengths: Sequence[int], number: int) -> int:  # noqa: ARG002
        return len(lengths)

    @torch.inference_mode()
    def denoise(self, context: Context, kind: HoleKind, canvas: Canvas, wanted: Ints) -> Tensor:  # noqa: ARG002
        prompt: Prompt = context.state
        rows, tokens = canvas.rows, self._row_tokens(prompt, canvas)
        memory = self._memory(prompt, tokens)
        first, beyond = np.full(rows, tokens.shape[1]), np.zeros(rows, np.int64)
        np.minimum.at(first, canvas.row[wanted], canvas.index[wanted])
        np.maximum.at(beyond, canvas.row[wanted], canvas.index[wanted] + 1)
        start = np.minimum(np.minimum(prompt.counts, first), beyond)
        index = start[:, None] + np.arange((beyond - start).max())  # of the row's tokens to compute, [N, T]
        real = index < beyond[:, None]
        spare = tokens.shape[1]  # an unseen column receives the padding of a row
        memory.columns = self._tensor(prompt.length + np.where(real, index, spare))
        ids = np.take_along_axis(tokens, np.minimum(index, spare - 1), 1)
        width = memory.layers[0][0].shape[2]
        visible = np.arange(width) <= prompt.length + np.where(real, index, -1)[:, :, None]
        states = self._backbone.states(
            self._tensor(ids), self._tensor(prompt.length + index), self._tensor(visible)[:, None], memory
        )
        prompt.ids, prompt.counts = tokens, np.where(beyond, beyond, prompt.counts)
        chosen = states[
            self._tensor(canvas.row[wanted]), self._tensor(canvas.index[wanted] - start[canvas.row[wanted]])
        ]
        return joined_ends(self._backbone.logits(chosen), self.info.eos_id, self._ends)

    def _read(self, layers: list[LayerMemory], ids: Ints) -> list[LayerMemory]:
        memory, past = Remembered(layers), layers[0][0].shape[2] if layers else 0
        places = torch.arange(past, past + len(ids), device=self.device)
        visible = seen_left(past, len(ids)).to(self.device)
        self._backbone.states(self._tensor(ids)[None], places[None], visible, memory)
        return memory.layers

    def _row_tokens(self, prompt: Prompt, canvas: Canvas) -> Ints:
        """Return each row's tokens from the prompt's last on, [N, L]. Slot i's token is what slot i + 1 depends on."""
        tokens = np.full((canvas.rows, int(canvas.lengths.max())), self.info.eos_id)
        tokens[:, 0] = prompt.last
        inner = canvas.left > 0
        tokens[canvas.row[inner], canvas.index[inner] + 1] = canvas.ids[inner]
        return tokens

    def _memory(self, prompt: Prompt, tokens: Ints) -> Placed:
        """Return columns for prompt and rows. Columns with tokens other than `tokens` count as not computed."""
        if prompt.rows is not None and prompt.ids.shape == tokens.shape:
            same = np.cumprod(prompt.ids == tokens, 1).sum(1)
            prompt.counts = np.minimum(prompt.counts, same)
            return prompt.rows
        rows, width = tokens.shape
        columns = prompt.length + width + 1
        memory = Placed(
            [(_spread(keys, rows, columns), _spread(values, rows, columns)) for keys, values in prompt.layers]
        )
        prompt.rows, prompt.counts = memory, np.zeros(rows, np.int64)
        return memory


def _spread(values: Tensor, rows: int, columns: int) -> Tensor:
    """Return [1, H, T, hd] in the first of `columns` of each row, [rows, H, columns, hd]."""
    spread = values.new_zeros(rows, values.shape[1], columns, values.shape[3])
    spread[:, :, : values.shape[2]] = values
    return spread
