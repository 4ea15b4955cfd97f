"""Keys and values that a stock network has computed, with two ways to add: appending, and writing to given columns."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

LayerMemory = tuple[Tensor, Tensor]  # keys and values of one layer, [B, H, T, hd] each

COLUMN_BLOCK = 32  # columns of a context are rounded up to this, slots to SLOT_BLOCK, which limits shapes and kernels
SLOT_BLOCK = 8


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
    """Keys and values in columns of a fixed size, written to `columns` [B, T]; also a cache for attention.

    `layers` are [B, H, S, hd] each. Earlier contents of a column are overwritten.
    """

    def __init__(self, layers: Sequence[LayerMemory]) -> None:
        self.layers = layers
        self.columns: Tensor | None = None

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: Any, **__: Any) -> LayerMemory:
        """Return all keys and values of `layer`, with the new ones in their columns."""
        assert self.columns is not None
        place = self.columns[:, None, :, None].expand(-1, keys.shape[1], -1, keys.shape[3])
        old_keys, old_values = self.layers[layer]
        old_keys.scatter_(2, place, keys)
        old_values.scatter_(2, place, values)
        return old_keys, old_values


def rounded_up(number: int, block: int) -> int:
    return -(-number // block) * block
