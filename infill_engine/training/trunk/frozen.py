"""Frozen int8 matrices, each with a trainable low-rank term (LoRA, arXiv 2106.09685).

Both directions multiply in int8: a frozen matrix needs no gradient of its own, only the gradient of its input. On a CPU
with AVX2 this takes a third of the time of float32.
"""

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from infill_engine.models.quantization.int8_kernels import Kernel
from infill_engine.models.quantization.int8_linear import quantise


class _FrozenProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factors: Tensor, forwards: Kernel, backwards: Kernel) -> Tensor:
        ctx.backwards = backwards
        return forwards.product(x / factors)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        return ctx.backwards.product(gradient.contiguous()), None, None, None


class FrozenLinear(nn.Module):
    """`matrix` [out, in] frozen in int8, plus `scale * up @ down` of rank `rank`, which is trained.

    `factors` [in] smooth the input before it is rounded (see `models.trunk.smoothing`). `down` [rank, in] is
    initialised at random and `up` [out, rank] with zeros, so that training starts from the frozen network.
    """

    def __init__(
        self,
        matrix: Tensor,
        bias: Tensor | None,
        kernel: type[Kernel],
        rank: int,
        factors: Tensor | None = None,
        scale: float = 2.0,
    ) -> None:
        super().__init__()
        self.bias = bias
        self.scale = scale
        self._factors = torch.ones(matrix.shape[1]) if factors is None else factors
        self._forwards = kernel(*quantise(matrix * self._factors))
        self._backwards = kernel(*quantise(matrix.t().contiguous()))
        self.down = nn.Parameter(torch.randn(rank, matrix.shape[1]) / matrix.shape[1] ** 0.5)
        self.up = nn.Parameter(torch.zeros(matrix.shape[0], rank))

    def forward(self, x: Tensor) -> Tensor:
        """x [T, in] -> [T, out]"""
        return self.frozen(x) + F.linear(F.linear(x, self.down), self.up) * self.scale

    def frozen(self, x: Tensor) -> Tensor:
        """Like `forward`, without the low-rank term."""
        product: Tensor = _FrozenProduct.apply(x, self._factors, self._forwards, self._backwards)  # type: ignore[no-untyped-call]
        return product if self.bias is None else product + self.bias
