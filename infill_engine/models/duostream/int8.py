"""Matrices as int8 with a scale for each row: so they are stored, and so a CPU may keep them and multiply with them.

Then activations are quantised, too, each token with a scale of its own ("token-wise", ZeroQuant, arXiv 2206.01861).
Sums of products of integers are exact: what a token becomes does not depend on the tokens beside it.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

LEVELS = 127
LEAST = 1e-12  # of a scale: a row of nothing but zeros has one, too
PROBED = 1024, 384  # a matrix of the default's
ROWS = 32


def quantise(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Symmetric int8 with one scale a row: matrix [R, C] -> int8 [R, C], float32 scales [R]."""
    scale = matrix.abs().amax(1).clamp(min=LEAST) / LEVELS
    return (matrix / scale[:, None]).round().to(torch.int8), scale


def dequantise(quantised: Tensor, scale: Tensor) -> Tensor:
    """The inverse of `quantise`, in float32."""
    return quantised.float() * scale[:, None]


class Int8Linear(nn.Module):
    """Takes the place of an `nn.Linear` without bias, for serving on a CPU: `weight` int8 [N, K], `scale` [N]."""

    weight: Tensor
    scale: Tensor

    def __init__(self, weight: Tensor, scale: Tensor) -> None:
        super().__init__()
        self.out_features = len(weight)
        self.register_buffer("weight", weight)
        self.register_buffer("scale", scale)

    def forward(self, x: Tensor) -> Tensor:
        """x [..., K] -> [..., N]"""
        return self.product(x)

    def product(self, x: Tensor) -> Tensor:
        """x [..., K] by the matrix -> [..., N]"""
        tokens = x.flatten(0, -2).float()  # in bfloat16 the largest number of a token could become 128
        scale = tokens.abs().amax(-1, keepdim=True).clamp_(min=LEAST).mul_(1 / LEVELS)
        product = torch._int_mm((tokens / scale).round_().to(torch.int8), self.weight.t())
        return product.float().mul_(scale).mul_(self.scale).to(x.dtype).view(*x.shape[:-1], -1)

    def product_of_rows(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """The same in numpy, which has less to do around each operation: x [T, K] -> [T, N]."""
        scale = np.maximum(np.abs(x).max(-1, keepdims=True), np.float32(LEAST)) * np.float32(1 / LEVELS)
        levels = x / scale
        np.rint(levels, levels)
        whole = torch._int_mm(torch.from_numpy(levels.astype(np.int8)), self.weight.t())
        product = whole.numpy().astype(np.float32)
        product *= scale
        product *= self.scale.numpy()
        return product

    @staticmethod
    def joined(linears: Sequence["Int8Linear"]) -> "Int8Linear":
        """One for all of these, of the same input: what they put out stands side by side."""
        return Int8Linear(torch.cat([each.weight for each in linears]), torch.cat([each.scale for each in linears]))


class Int8Embedding(Int8Linear):
    """Takes the place of an `nn.Embedding` of `weight` [V, D], which may be multiplied with, too."""

    def __init__(self, weight: Tensor, scale: Tensor, dtype: torch.dtype) -> None:
        super().__init__(weight, scale)
        self._dtype = dtype

    def forward(self, ids: Tensor) -> Tensor:
        """ids [...] -> [..., D]"""
        return (self.weight[ids] * self.scale[ids].unsqueeze(-1)).to(self._dtype)


def make_room(network: nn.Module, dtype: torch.dtype) -> None:
    """Replaces what holds a matrix in a network without biases by what holds it in int8, and computes in `dtype`."""
    for module in list(network.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear | nn.Embedding):
                weight, scale = torch.empty(child.weight.shape, dtype=torch.int8), torch.empty(len(child.weight))
                embeds = isinstance(child, nn.Embedding)
                held = Int8Embedding(weight, scale, dtype) if embeds else Int8Linear(weight, scale)
                setattr(module, name, held)


def is_exact() -> bool:
    """Whether products are: without instructions for them a processor adds neighbours in 16 bits, which overflow."""
    largest = torch.full(PROBED, LEVELS, dtype=torch.int8)
    return bool((torch._int_mm(largest[:ROWS], largest.t()) == LEVELS * LEVELS * PROBED[1]).all())
