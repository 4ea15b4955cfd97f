"""A stock decoder of the transformers library, used as a function from tokens, positions and a mask to states.

Only the layers of the library's class are used. This module and the families decide which token sees which, the
positions, what is remembered and which states become logits. So one class serves masked diffusion (everything sees
everything) and autoregression, and no code of a checkpoint is needed.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from infill_engine.models.kv_cache.layers import Placed, Remembered


class Backbone:
    """A loaded network on its device."""

    def __init__(self, network: Any, device: str) -> None:
        self._network = network
        self.device = device
        self.vocabulary = int(self._network.config.vocab_size)

    def states(self, ids: Tensor, places: Tensor, visible: Tensor, memory: Remembered | Placed | None = None) -> Tensor:
        """Final states [B, T, D] of tokens `ids` [B, T] at positions `places` [B, T].

        `visible` [B, 1, T, S] tells which of the S keys a token sees: those of `memory` once these tokens are in it,
        or without a memory the tokens themselves. Every token must see at least one key.
        """
        states: Tensor = self._network.model(
            input_ids=ids, position_ids=places, attention_mask=visible, past_key_values=memory, use_cache=False
        ).last_hidden_state
        return states

    def logits(self, states: Tensor) -> Tensor:
        """Return logits [..., V] in float32 of states [..., D]."""
        logits: Tensor = self._network.lm_head(states)
        return logits.float()


def joined_ends(logits: Tensor, end: int, others: Sequence[int]) -> Tensor:
    """Return logits [W, V] in which `end` has the total probability of all tokens that end a text."""
    if others:
        logits[:, end] = torch.logsumexp(logits[:, [end, *others]], -1)
    return logits
