"""Matrices as int8 with a scale for each row: so they are stored, and so a CPU may multiply with them.

There activations are quantised, too, each token with a scale of its own ("token-wise", ZeroQuant, arXiv 2206.01861).
Sums of products of integers are exact: what a token becomes does not depend on the tokens beside it.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from infill_engine.models.timing import quickest

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
    """Takes the place of an `nn.Linear` without bias of weights [N, K], for serving on a CPU."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        codes, scale = quantise(weight.float())
        self._codes, self._scale = codes.t(), scale

    def forward(self, x: Tensor) -> Tensor:
        """x [..., K] -> [..., N]"""
        tokens = x.flatten(0, -2).float()  # in bfloat16 the largest number of a token could become 128
        scale = tokens.abs().amax(-1, keepdim=True).clamp_(min=LEAST).mul_(1 / LEVELS)
        product = torch._int_mm((tokens / scale).round_().to(torch.int8), self._codes)
        return product.float().mul_(scale).mul_(self._scale).to(x.dtype).view(*x.shape[:-1], -1)


def is_faster_than(dtype: torch.dtype) -> bool:
    """Whether this CPU multiplies faster in int8 than in `dtype`, measured now, and without a fault.

    Processors without instructions for it add neighbouring products in 16 bits, which the largest numbers overflow.
    """
    largest = torch.full(PROBED, LEVELS, dtype=torch.int8)
    sums = torch._int_mm(largest[:ROWS], largest.t())
    if not bool((sums == LEVELS * LEVELS * PROBED[1]).all()):
        return False
    x, weight = torch.ones(ROWS, PROBED[1], dtype=dtype), torch.ones(PROBED, dtype=dtype)
    linear = Int8Linear(weight)
    return quickest({True: lambda: linear(x), False: lambda: F.linear(x, weight)})
