"""A stock decoder of the transformers library, used as a function from tokens, positions and a mask to states.

Only the layers of the library's class are used. This module and the families decide which token sees which, the
positions, what is remembered and which states become logits. So one class serves masked diffusion (everything sees
everything) and autoregression, and no code of a checkpoint is needed.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

LayerMemory = tuple[Tensor, Tensor]  # keys and values of one layer, [B, H, T, hd] each


class Remembered:
    """Keys and values that grow at their end. Implements the cache interface of the library's attention layers."""

    def __init__(self, layers: Sequence[LayerMemory] = ()) -> None:
        self.layers = list(layers)

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: Any, **__: Any) -> LayerMemory:
        """Return all keys and values of `layer`, the new ones last."""
        if layer < len(self.layers):
            old = self.layers[layer]
            self.layers[layer] = torch.cat([old[0], keys], 2), torch.cat([old[1], values], 2)
        else:
            self.layers.append((keys, values))
        return self.layers[layer]


class Placed:
    """Keys and values in a fixed number of columns, written to `columns` [1, T]; also a cache for attention.

    Earlier contents of a column are overwritten. `given` are those of the first columns.
    """

    def __init__(self, given: Sequence[LayerMemory], width: int) -> None:
        self._given = given
        self._width = width
        self._layers: list[LayerMemory] = []  # [1, H, width, hd] each
        self.columns: Tensor | None = None

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: Any, **__: Any) -> LayerMemory:
        """Return all keys and values of `layer`, with the new ones in their columns."""
        assert self.columns is not None
        if layer == len(self._layers):
            old = self._given[layer] if self._given else (keys[:, :, :0], values[:, :, :0])
            old_keys, old_values = (pad(each, (0, 0, 0, self._width - each.shape[2])) for each in old)
            self._layers.append((old_keys, old_values))
        place = self.columns[:, None, :, None].expand(-1, keys.shape[1], -1, keys.shape[3])
        old_keys, old_values = self._layers[layer]
        old_keys.scatter_(2, place, keys)
        old_values.scatter_(2, place, values)
        return old_keys, old_values


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


def to_device(device: str) -> Callable[[NDArray[np.generic]], Tensor]:
    """Return a function that copies an array to `device`, contiguous, with its shape and dtype kept."""
    return lambda values: torch.from_numpy(np.ascontiguousarray(values)).to(device)


def joined_ends(logits: Tensor, end: int, others: Sequence[int]) -> Tensor:
    """Return logits [W, V] in which `end` has the total probability of all tokens that end a text."""
    if others:
        logits[:, end] = torch.logsumexp(logits[:, [end, *others]], -1)
    return logits
