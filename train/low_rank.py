"""Tasks that learn low-rank terms beside all matrices of the trunk (LoRA, arXiv 2106.09685)."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from infill_engine.models.trunk.adapter import NAMES
from train.figures import Score
from train.run import Item, Task
from train.trunk.base import Base
from train.trunk.frozen import FrozenTrunk
from train.trunk.terms import DOWN, UP

FIRST_SPREAD = 2.0  # of the products of `down` with inputs of spread 1, before training


class LowRank(Task[Item]):
    """Learns the terms of an adapter from the loss of an example."""

    def __init__(self, base: Base, rank: int) -> None:
        self.base, self._rank = base, rank
        self.device, self.dtype = base.trunk.norm.device, base.trunk.norm.dtype

    @abstractmethod
    def loss(self, weights: Mapping[str, Tensor], item: Item) -> tuple[Tensor, list[Score]]:
        """Return what is learned from an example, and the scores of its parts."""

    def begin(self) -> dict[str, Tensor]:
        """See `Task`."""
        return new_adapter(self.base.trunk, self._rank)

    def learn(self, weights: Mapping[str, Tensor], item: Item) -> tuple[Sequence[Tensor], list[Score]]:
        """See `Task`."""
        leaves = {name: tensor.detach().requires_grad_() for name, tensor in weights.items()}
        loss, scores = self.loss(leaves, item)
        return torch.autograd.grad(loss, list(leaves.values())), scores

    @torch.no_grad()
    def judge(self, weights: Mapping[str, Tensor], item: Item) -> list[Score]:
        """See `Task`."""
        return self.loss(weights, item)[1]


def new_adapter(trunk: FrozenTrunk, rank: int, seed: int = 0) -> dict[str, Tensor]:
    """Return terms in float32 that change nothing yet: `up` is zero."""
    chance = torch.Generator().manual_seed(seed)
    made = {}
    for number, layer in enumerate(trunk.layers):
        for name in NAMES:
            out, width = getattr(layer, name).shape
            drawn = torch.randn(rank, width, generator=chance) * (FIRST_SPREAD / width**0.5)
            made[f"layers.{number}.{name}.{DOWN}"] = drawn.to(trunk.norm.device)
            made[f"layers.{number}.{name}.{UP}"] = torch.zeros(out, rank, device=trunk.norm.device)
    return made
