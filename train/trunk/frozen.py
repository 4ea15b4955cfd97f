"""Frozen matrices, each with a trainable low-rank term (LoRA, arXiv 2106.09685).

A frozen matrix needs no gradient of its own, only the gradient of its input.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

FrozenProduct = Callable[[Tensor], Tensor]  # [T, in] -> [T, out]


class FrozenLinear(nn.Module):
    """A frozen product with a matrix of `shape` (out, in), plus `scale * up @ down` of rank `rank`, which is trained.

    `down` [rank, in] is initialised at random and `up` [out, rank] with zeros, so that training starts from the frozen
    network. Both are float32; the term is computed in the input's type.
    """

    def __init__(self, frozen: FrozenProduct, shape: tuple[int, int], rank: int, scale: float = 2.0) -> None:
        super().__init__()
        self.frozen = frozen
        self.scale = scale
        self.down = nn.Parameter(torch.randn(rank, shape[1]) / shape[1] ** 0.5)
        self.up = nn.Parameter(torch.zeros(shape[0], rank))

    def forward(self, x: Tensor) -> Tensor:
        """x [T, in] -> [T, out]"""
        down, up = self.down.to(x.dtype), self.up.to(x.dtype)
        return torch.addmm(self.frozen(x), F.linear(x, down), up.t(), alpha=self.scale)
