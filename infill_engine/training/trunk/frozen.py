"""Frozen matrices, each with a trainable low-rank term (LoRA, arXiv 2106.09685).

A frozen matrix needs no gradient of its own, only the gradient of its input, so both directions may multiply in int8.
On a CPU with AVX2 this takes a third of the time of float32. A processor that multiplies bfloat16 faster than float32
keeps the matrices in bfloat16: the operations between the products are the larger part there, and move half as much.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from infill_engine.models.quantization.int8_kernels import Kernel
from infill_engine.models.quantization.int8_linear import quantise

FrozenProduct = Callable[[Tensor], Tensor]  # [T, in] -> [T, out]


class TwoWayInt8Product:
    """Multiplies with `matrix` [out, in] in int8, in both directions.

    `factors` [in] smooth the input before it is rounded (see `models.trunk.smoothing`).
    """

    def __init__(self, matrix: Tensor, bias: Tensor | None, kernel: type[Kernel], factors: Tensor) -> None:
        self._factors, self._bias = factors, bias
        self._forwards = kernel(*quantise(matrix * factors))
        self._backwards = kernel(*quantise(matrix.t().contiguous()))

    def __call__(self, x: Tensor) -> Tensor:
        """See `FrozenProduct`."""
        product: Tensor = _BothWays.apply(x, self._factors, self._forwards, self._backwards)  # type: ignore[no-untyped-call]
        return product if self._bias is None else product + self._bias


class _BothWays(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factors: Tensor, forwards: Kernel, backwards: Kernel) -> Tensor:
        ctx.backwards = backwards
        return forwards.product(x / factors)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        return ctx.backwards.product(gradient.contiguous()), None, None, None


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
