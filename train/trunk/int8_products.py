"""Products in int8 on a CPU: about twice as fast as in floats, where sums of products of int8 are exact.

Rows are rounded, each with its own scale ("token-wise", ZeroQuant, arXiv 2206.01861), also the gradients (SwitchBack,
arXiv 2304.13013); the low-rank terms and their gradients are not. Forward, that is how the trunk is served.

Whether sums are exact depends on the processor: `is_exact` tries it.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import ClassVar, Protocol

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from train.trunk.products import PlainProduct, Product

LARGEST = 127  # code in a matrix
LEAST = 1e-12  # the least scale, for rows of zeros
PROBED, PROBES = (1024, 384), 32  # the shape of a probing matrix, and rows
Rounding = Callable[[Tensor], tuple[Tensor, Tensor]]
_PACKING = Lock()  # the library that packs is a setting of the whole process


class Kernel(Protocol):
    """Multiplies rows with one matrix, `codes` int8 [N, K] times `scales` [N]."""

    NAME: ClassVar[str]

    def __init__(self, codes: Tensor, scales: Tensor) -> None:
        """Raise RuntimeError or AttributeError if torch does not have the kernel."""

    def times(self, x: Tensor) -> Tensor:
        """x [T, K] -> [T, N] in the type of x."""


class OneDnn:
    """Fast on processors that multiply int8 and add in 32 bits (VNNI, AMX and similar).

    Codes of rows are unsigned: without AMX, the library has a slow reference product for signed ones.
    """

    NAME: ClassVar = "oneDNN"
    LEVELS: ClassVar = 126  # of a row on either side of zero; its scale is rounded to the rows' type: one is left over
    ZERO: ClassVar = 128  # the code of level 0
    PADDED: ClassVar = 16  # the library keeps code for each number of rows, so it is a multiple of this

    def __init__(self, codes: Tensor, scales: Tensor, rounding: Rounding | None = None) -> None:
        """`rounding` may be a compiled `rounded`."""
        self._rounding = rounding or self.rounded
        self._packed = torch.ops.onednn.qlinear_prepack(codes.contiguous(), None)
        self._scales, self._zeros = scales, torch.zeros(len(scales), dtype=torch.int)
        self._multiply = torch.ops.onednn.qlinear_pointwise.default

    def times(self, x: Tensor) -> Tensor:
        """See `Kernel`."""
        codes, scale = self._rounding(x)
        codes = F.pad(codes, (0, 0, 0, -len(x) % self.PADDED))
        found: Tensor = self._multiply(
            codes, 1.0, self.ZERO, self._packed, self._scales, self._zeros, None, 1.0, 0, x.dtype, "none", [], ""
        )
        return found[: len(x)].mul_(scale)

    @staticmethod
    def rounded(x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the codes of rows x [T, K], uint8, and their scales [T, 1] in the type of x."""
        scale = _scale(x, OneDnn.LEVELS)
        return (x / scale.float()).add_(OneDnn.ZERO + 0.5).to(torch.uint8), scale  # the conversion rounds down


class Fbgemm:
    """Also fast with only AVX2 or AVX-512, which add two products in 16 bits: rows of 7 bits avoid overflow."""

    NAME: ClassVar = "FBGEMM"
    LEVELS: ClassVar = 63

    def __init__(self, codes: Tensor, scales: Tensor) -> None:
        zeros = torch.zeros(len(scales), dtype=torch.long)
        with _PACKING:
            engine = torch.backends.quantized.engine  # the only way to select the library that packs
            torch.backends.quantized.engine = "fbgemm"
            try:
                with warnings.catch_warnings():
                    # The warning says that a later torch will remove it; then this kernel is not used.
                    warnings.simplefilter("ignore", UserWarning)
                    matrix = torch._make_per_channel_quantized_tensor(codes.contiguous(), scales.double(), zeros, 0)
                self._packed = torch.ops.quantized.linear_prepack(matrix, None)
            finally:
                torch.backends.quantized.engine = engine
        self._multiply = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32.default

    def times(self, x: Tensor) -> Tensor:
        """See `Kernel`."""
        scale = _scale(x, self.LEVELS).float()
        found: Tensor = self._multiply(x / scale, 1.0, self.LEVELS + 1, self._packed)
        return found.mul_(scale).to(x.dtype)


KERNELS: tuple[type[Kernel], ...] = OneDnn, Fbgemm
Packing = Callable[[Tensor, Tensor], Kernel]


@dataclass(frozen=True, slots=True)
class Int8Product:
    """A matrix [out, in], rounded for either direction."""

    rounded: Kernel
    transposed: Kernel
    bias: Tensor | None = None

    @classmethod
    def of(cls, kernel: Packing, matrix: Tensor, bias: Tensor | None = None) -> "Int8Product":
        """Round a matrix."""
        return cls(rounded(kernel, matrix), rounded(kernel, matrix.t().contiguous()), bias)

    def times(self, x: Tensor) -> Tensor:
        """See `Product`."""
        found = self.rounded.times(x)
        return found if self.bias is None else found.add_(self.bias)

    def back(self, gradient: Tensor) -> Tensor:
        """See `Product`."""
        return self.transposed.times(gradient)


def fastest_products() -> Callable[[Tensor, Tensor | None], Product]:
    """Return what makes products in int8, or in the matrix's type if this processor has no exact ones in int8."""
    kernel = fastest_kernel()
    if kernel is OneDnn:
        torch._dynamo.config.suppress_errors = True  # without a compiler, rows are rounded in several passes
        return partial(Int8Product.of, partial(OneDnn, rounding=torch.compile(OneDnn.rounded, dynamic=True)))
    return PlainProduct if kernel is None else partial(Int8Product.of, kernel)


def fastest_kernel() -> type[Kernel] | None:
    """Return the first kernel that works on this processor."""
    return next((kernel for kernel in KERNELS if is_exact(kernel)), None)


def rounded(kernel: Packing, matrix: Tensor) -> Kernel:
    """Round a matrix [N, K], with a scale for each of the N."""
    scales = matrix.float().abs().amax(1).clamp_(min=LEAST).mul_(1 / LARGEST)
    return kernel((matrix.float() / scales[:, None]).round_().to(torch.int8), scales)


def is_exact(kernel: type[Kernel]) -> bool:
    """Return whether a kernel is available and its sums do not overflow: some processors add neighbours in 16 bits."""
    try:
        multiply = kernel(torch.full(PROBED, LARGEST, dtype=torch.int8), torch.ones(PROBED[0]))
        product = multiply.times(torch.ones(PROBES, PROBED[1]))
    except (RuntimeError, AttributeError):
        return False
    return torch.allclose(product, torch.full_like(product, float(LARGEST * PROBED[1])), rtol=1e-5)


def _scale(x: Tensor, levels: int) -> Tensor:
    return x.abs().amax(-1, keepdim=True).clamp_(min=LEAST).mul_(1 / levels)
