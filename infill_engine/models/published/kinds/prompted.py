"""What all models share that write rows in order after a prompt with both sides of the hole."""

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from infill_engine.models.base import Context, Ints, ModelInfo, Order, ProposedLength
from infill_engine.models.published.fim_tokens import FimTokens
from infill_engine.models.published.kinds.prompts import PromptReader, other_ends
from infill_engine.models.stock.decoder import Backbone, LayerMemory, Remembered, joined_ends, to_device
from infill_engine.models.tokenizer import TokenizerVocabulary
from infill_engine.settings import ModelSettings
from infill_engine.types import HoleKind

MOST_SLOTS = 128


class PromptedModel:
    """Reads prompts and keeps them. A token sees all `block`s of tokens before its own and all of its own.

    `mask` is the token of an open slot; None if such tokens are never read.
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

    def propose_lengths(self, context: Context, kind: HoleKind, limit: int) -> list[ProposedLength]:  # noqa: ARG002
        """Propose the maximum number of slots: a row ends by itself."""
        return [ProposedLength(self.info.max_slots, 0.0)]

    def _read(self, layers: Sequence[LayerMemory], ids: Ints) -> list[LayerMemory]:
        memory, past = Remembered(layers), layers[0][0].shape[2] if layers else 0
        places = np.arange(past, past + len(ids))
        visible = np.arange(past + len(ids)) // self._block <= places[:, None] // self._block
        self._backbone.states(
            self._tensor(ids)[None], self._tensor(places)[None], self._tensor(visible)[None, None], memory
        )
        return memory.layers

    def _logits(self, states: Tensor) -> Tensor:
        """Return logits [W, V] of states [W, D]."""
        return joined_ends(self._backbone.logits(states), self.info.eos_id, self._ends)
