"""Masked diffusion block by block, for models of this kind that were trained to fill in by prompt.

    suffix … prefix … in whole blocks, read once │ rest of the prompt, slots │ slots │ … masks up to the block's end

A token sees all blocks before its own and all of its own. As for autoregressive models, the text right of a hole can
therefore only be part of the prompt. A row is written in order, one slot per step, with the later slots masked. The
model was trained for this order among others, and here each prediction has the most to depend on. Logits are read at
the slot itself.

All rows share one axis and the prompt's keys and values. Between keystrokes, whole blocks are kept as far as their
tokens agree. A block that agrees only in part is read again, because its tokens see each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from infill_engine.budget.work import Job
from infill_engine.models.base import Context, Ints
from infill_engine.models.canvas.canvas import Canvas
from infill_engine.models.published.kinds.prompted import PromptedModel
from infill_engine.models.published.kinds.prompts import prompt_of
from infill_engine.models.stock.decoder import LayerMemory, Remembered


@dataclass(frozen=True, slots=True)
class Prompt:
    """What `Context.state` holds here: the whole blocks of a prompt, already read, and the tokens after them."""

    layers: Sequence[LayerMemory]
    length: int
    rest: Ints


class BlockCausalModel(PromptedModel):
    """Implements `infill_engine.models.base.CanvasModel` for a network that writes blocks of tokens."""

    @torch.inference_mode()
    def encode(self, prefix: str, suffix: str) -> Job[Context]:
        ids = prompt_of(self._fim, self.vocabulary, self._settings, prefix, suffix)
        whole = len(ids) // self._block * self._block
        layers, read = yield from self._prompts.layers_of(ids[:whole])
        return Context(Prompt(layers, whole, ids[whole:]), read, len(ids))

    def step_size(self, context: Context, lengths: Sequence[int], number: int) -> int:
        rest = len(context.state.rest)
        return sum(self._up_to_block(rest + min(length, number + 1)) for length in lengths)

    @torch.inference_mode()
    def denoise(self, context: Context, canvas: Canvas, wanted: Ints) -> Tensor:
        prompt: Prompt = context.state
        rest = len(prompt.rest)
        parts: list[Ints] = []
        starts = np.zeros(canvas.rows, np.int64)  # of each row's first slot on the common axis
        for number in range(canvas.rows):
            own = wanted[canvas.row[wanted] == number]
            slots = int(canvas.index[own].max()) + 1 if len(own) else 0
            starts[number] = sum(len(part) for part in parts) + rest
            part = np.full(self._up_to_block(rest + slots) if slots else 0, self.info.mask_id)
            filled = np.concatenate([prompt.rest, canvas.ids[canvas.span(number)]])[: len(part)]
            part[: len(filled)] = filled
            parts.append(part)
        ids = np.concatenate(parts)
        row = np.repeat(np.arange(canvas.rows), [len(part) for part in parts])
        index = np.concatenate([np.arange(len(part)) for part in parts])
        block = index // self._block
        own_row = (row[:, None] == row) & (block[:, None] >= block)
        visible = np.concatenate([np.ones((len(ids), prompt.length), bool), own_row], 1)
        states = self._backbone.states(
            self._tensor(ids)[None],
            self._tensor(prompt.length + index)[None],
            self._tensor(visible)[None, None],
            Remembered(prompt.layers),
        )[0]
        chosen = states[self._tensor(starts[canvas.row[wanted]] + canvas.index[wanted])]
        return self._logits(chosen)

    def _up_to_block(self, columns: int) -> int:
        return -(-columns // self._block) * self._block
