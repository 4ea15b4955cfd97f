"""Matrices as int8 with a scale for each row, the stored format, which a CPU can also keep and multiply with."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from infill_engine.models.quantization.int8_kernels import LARGEST, LEAST, Kernel

BLOCK = 1 << 16  # weights that are rounded at once


def quantise(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Symmetric int8 with one scale for each row: matrix [R, C] -> int8 [R, C], float32 scales [R].

    Works on a few rows at a time, so that intermediate results stay in the processor's cache.
    """
    levels, scale = torch.empty(matrix.shape, dtype=torch.int8), torch.empty(len(matrix))
    rows = max(1, BLOCK // max(1, matrix.shape[1]))
    for start in range(0, len(matrix), rows):
        part = matrix[start : start + rows]
        scale[start : start + rows] = part.abs().amax(1).clamp_(min=LEAST).div_(LARGEST)
        levels[start : start + rows] = part.div(scale[start : start + rows, None]).round_()
    return levels, scale


def dequantise(quantised: Tensor, scale: Tensor) -> Tensor:
    """Return the inverse of `quantise`, in float32."""
    return quantised.float() * scale[:, None]


class Int8Linear(nn.Module):
    """Replaces an `nn.Linear` without bias, for inference on a CPU: `weight` int8 [N, K], `scale` [N]."""

    weight: Tensor
    scale: Tensor

    def __init__(self, weight: Tensor, scale: Tensor, kernel: type[Kernel]) -> None:
        super().__init__()
        self.out_features = len(weight)
        self.kernel = kernel
        self.register_buffer("weight", weight)
        self.register_buffer("scale", scale)

    @cached_property
    def _matrix(self) -> Kernel:
        """Created on first use, when the weights are loaded."""
        return self.kernel(self.weight, self.scale.float())

    def forward(self, x: Tensor) -> Tensor:
        """x [..., K] -> [..., N]"""
        return self.product(x)

    def product(self, x: Tensor) -> Tensor:
        """x [..., K] by the matrix -> [..., N]"""
        tokens = x.flatten(0, -2).float()  # in bfloat16 the largest level of a token could become 128
        return self._matrix.product(tokens).to(x.dtype).view(*x.shape[:-1], -1)

    def product_of_rows(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the same for arrays: x [T, K] -> [T, N]."""
        return self._matrix.product_of_rows(x)

    @staticmethod
    def joined(linears: Sequence["Int8Linear"]) -> "Int8Linear":
        """One layer for several with the same input; their outputs are concatenated."""
        weight, scale = (torch.cat([getattr(each, name) for each in linears]) for name in ("weight", "scale"))
        return Int8Linear(weight, scale, linears[0].kernel)


class Int8Embedding(Int8Linear):
    """Replaces an `nn.Embedding` of `weight` [V, D], which can also be multiplied with."""

    def __init__(self, weight: Tensor, scale: Tensor, kernel: type[Kernel], dtype: torch.dtype) -> None:
        super().__init__(weight, scale, kernel)
        self._dtype = dtype

    def forward(self, ids: Tensor) -> Tensor:
        """ids [...] -> [..., D]"""
        return (self.weight[ids] * self.scale[ids].unsqueeze(-1)).to(self._dtype)


def use_int8(network: nn.Module, dtype: torch.dtype, kernel: type[Kernel]) -> None:
    """Replace the linear and embedding modules of a network without biases by int8 ones that compute in `dtype`."""
    for module in list(network.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear | nn.Embedding):
                weight, scale = torch.empty(child.weight.shape, dtype=torch.int8), torch.empty(len(child.weight))
                embeds = isinstance(child, nn.Embedding)
                held = Int8Embedding(weight, scale, kernel, dtype) if embeds else Int8Linear(weight, scale, kernel)
                setattr(module, name, held)
