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
        self._layers = list(layers)
        self._added: Tensor | None = None

    @property
    def layers(self) -> list[LayerMemory]:
        """Keys and values of every layer, [B, H, S, hd] each."""
        if self._added is not None:
            added, self._added = layers_of(self._added), None
            for layer, (keys, values) in enumerate(added):
                self.update(keys, values, layer)
        return self._layers

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: Any, **__: Any) -> LayerMemory:
        """Return all keys and values of `layer`, the new ones last."""
        if layer < len(self._layers):
            old = self._layers[layer]
            self._layers[layer] = torch.cat([old[0], keys], 2), torch.cat([old[1], values], 2)
        else:
            self._layers.append((keys, values))
        return self._layers[layer]

    def add(self, kept: Tensor) -> None:
        """Add the keys and values [2L, B, H, T, hd] of further tokens; they are joined when `layers` is read."""
        self._added = kept

    def stacked(self) -> Tensor:
        """Return all keys and values, [2L, B, H, S, hd]."""
        return stacked(self.layers)

    def sight(self, visible: Tensor) -> tuple[Tensor, Tensor]:
        """Split `visible` [B, T, S + T] into the part for the kept tokens and that for the new tokens."""
        new = visible.shape[1]
        return visible[:, :, :-new], visible[:, :, -new:]


class Placed:
    """Keys and values in columns of a fixed size, written to `columns` [B, T]; also a cache for attention.

    `kept` is [2L, B, H, S, hd]. Earlier contents of a column are overwritten.
    """

    def __init__(self, kept: Tensor) -> None:
        self.layers = layers_of(kept)
        self.columns: Tensor | None = None
        self._kept = kept

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: Any, **__: Any) -> LayerMemory:
        """Return all keys and values of `layer`, with the new ones in their columns."""
        assert self.columns is not None
        place = self.columns[:, None, :, None].expand(-1, keys.shape[1], -1, keys.shape[3])
        old_keys, old_values = self.layers[layer]
        old_keys.scatter_(2, place, keys)
        old_values.scatter_(2, place, values)
        return old_keys, old_values

    def add(self, kept: Tensor) -> None:
        """Write the keys and values [2L, B, H, T, hd] of tokens into their columns."""
        assert self.columns is not None
        self._kept.scatter_(3, self.columns[None, :, None, :, None].expand_as(kept), kept)

    def stacked(self) -> Tensor:
        """Return all keys and values, [2L, B, H, S, hd]."""
        return self._kept

    def sight(self, visible: Tensor) -> tuple[Tensor, Tensor]:
        """Split `visible` [B, T, S] into the part for columns that stay unchanged and that for the new tokens."""
        assert self.columns is not None
        written = self.columns[:, None].expand(-1, visible.shape[1], -1)
        return visible.scatter(2, written, value=False), visible.gather(2, written)


def stacked(layers: Sequence[LayerMemory]) -> Tensor:
    """Return keys and values [B, H, S, hd] of L layers as one tensor, [2L, B, H, S, hd]."""
    return torch.stack([each for layer in layers for each in layer])


def layers_of(kept: Tensor) -> list[LayerMemory]:
    """Return keys and values [2L, B, H, S, hd], layer after layer."""
    return list(zip(kept[0::2].unbind(), kept[1::2].unbind(), strict=True))


def rounded_up(number: int, block: int) -> int:
    return -(-number // block) * block
