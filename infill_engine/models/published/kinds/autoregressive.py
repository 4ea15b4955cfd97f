"""Autoregressive fill-in-the-middle models on a stock backbone. The prompt is read once; rows are generated in order.

    <prefix> lines above <suffix> text right <middle> line so far ──▶ first slot ──▶ second slot ──▶ … ──▶ end

They run in the same loop as every other family. Their order is `LEFT_TO_RIGHT`, so the loop requests the first open
slot of each row; a copied text is read and verified in one step. A row has no fixed length: it ends where the model
says so. Candidates are rows of one batch that differ by branch or by sampling, and share the prompt's keys and values.

The keys and values of the unchanged part of the prompt are kept across keystrokes. If the suffix comes first (SPM),
that is everything except the last tokens. If the prefix comes first (PSM), the middle begins with the cursor's line,
and the prompt stays reusable as long as the user types on that line.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from infill_engine.budget.work import Job
from infill_engine.models.base import Context, Ints
from infill_engine.models.canvas.canvas import Canvas
from infill_engine.models.published.kinds.prompted import PromptedModel
from infill_engine.models.published.kinds.prompts import prompt_of
from infill_engine.models.stock.decoder import LayerMemory, Placed


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


class AutoregressiveModel(PromptedModel):
    """Implements `infill_engine.models.base.CanvasModel`."""

    @torch.inference_mode()
    def encode(self, prefix: str, suffix: str) -> Job[Context]:
        ids = prompt_of(self._fim, self.vocabulary, self._settings, prefix, suffix)
        layers, read = yield from self._prompts.layers_of(ids[:-1])
        return Context(Prompt(layers, int(ids[-1]), len(ids) - 1), read, len(ids))

    def step_size(self, context: Context, lengths: Sequence[int], number: int) -> int:  # noqa: ARG002
        return len(lengths)

    @torch.inference_mode()
    def denoise(self, context: Context, canvas: Canvas, wanted: Ints) -> Tensor:
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
        return self._logits(chosen)

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
