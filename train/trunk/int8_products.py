"""Products in int8 on a CPU: twice as fast as in bfloat16 where the processor adds products of int8 in 32 bits.

Rows are rounded, each with its own scale, also the gradients (SwitchBack, arXiv 2304.13013); the low-rank terms and
their gradients are not. Forward, that is how the trunk is served.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from train.trunk.products import PlainProduct, Product

LARGEST = 127  # code in a matrix
ZERO = 128  # the code of level 0, because codes of rows are unsigned: oneDNN is slow with signed ones without AMX
LEVELS = 126  # of a row on either side of zero; its scale is rounded to the rows' type, so one level is left over
LEAST = 1e-12  # the least scale of a row, for rows of zeros
PADDED = 16  # oneDNN keeps code for each number of rows, so it is a multiple of this
PROBED, PROBES = (1024, 384), 32  # the shape of a probing matrix, and rows

Rounding = Callable[[Tensor], tuple[Tensor, Tensor]]


def rounded_rows(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the codes of rows x [T, K], uint8, and their scales [T, 1] in the type of x."""
    scale = x.abs().amax(-1, keepdim=True).clamp_(min=LEAST).mul_(1 / LEVELS)
    return (x / scale.float()).add_(ZERO + 0.5).to(torch.uint8), scale  # the conversion rounds down


@dataclass(frozen=True, slots=True)
class Rounded:
    """A matrix [N, K] in int8, as oneDNN packs it, with a scale for each of the N."""

    packed: Tensor
    scales: Tensor
    zeros: Tensor
    rounding: Rounding

    @classmethod
    def of(cls, matrix: Tensor, rounding: Rounding = rounded_rows) -> "Rounded":
        """Round a matrix. Raises RuntimeError or AttributeError if torch has no oneDNN."""
        scales = matrix.float().abs().amax(1).clamp_(min=LEAST).mul_(1 / LARGEST)
        codes = (matrix.float() / scales[:, None]).round_().to(torch.int8)
        packed = torch.ops.onednn.qlinear_prepack(codes, None)
        return cls(packed, scales, torch.zeros(len(matrix), dtype=torch.int), rounding)

    def times(self, x: Tensor) -> Tensor:
        """x [T, K] -> [T, N] in the type of x."""
        codes, scale = self.rounding(x)
        codes = F.pad(codes, (0, 0, 0, -len(x) % PADDED))
        multiply = torch.ops.onednn.qlinear_pointwise.default
        found: Tensor = multiply(
            codes, 1.0, ZERO, self.packed, self.scales, self.zeros, None, 1.0, 0, x.dtype, "none", [], ""
        )
        return found[: len(x)].mul_(scale)


@dataclass(frozen=True, slots=True)
class Int8Product:
    """A matrix [out, in], rounded for either direction."""

    rounded: Rounded
    transposed: Rounded
    bias: Tensor | None = None

    @classmethod
    def of(cls, matrix: Tensor, bias: Tensor | None = None, rounding: Rounding = rounded_rows) -> "Int8Product":
        """Round a matrix. `rounding` may be a compiled `rounded_rows`."""
        return cls(Rounded.of(matrix, rounding), Rounded.of(matrix.t().contiguous(), rounding), bias)

    def times(self, x: Tensor) -> Tensor:
        """See `Product`."""
        found = self.rounded.times(x)
        return found if self.bias is None else found.add_(self.bias)

    def back(self, gradient: Tensor) -> Tensor:
        """See `Product`."""
        return self.transposed.times(gradient)


def fastest_products() -> Callable[[Tensor, Tensor | None], Product]:
    """Return what makes products in int8, or in the matrix's type if this processor has no exact ones in int8."""
    if not int8_works():
        return PlainProduct
    torch._dynamo.config.suppress_errors = True  # without a compiler, rows are rounded in several passes
    return partial(Int8Product.of, rounding=torch.compile(rounded_rows, dynamic=True))


def int8_works() -> bool:
    """Return whether sums of products in int8 are exact: some processors add neighbours in 16 bits and overflow."""
    try:
        product = Rounded.of(torch.ones(PROBED)).times(torch.ones(PROBES, PROBED[1]))
    except (RuntimeError, AttributeError):
        return False
    return torch.allclose(product, torch.full_like(product, float(PROBED[1])), rtol=1e-5)
