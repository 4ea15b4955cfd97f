"""Products with an int8 matrix on a CPU.

Rows are rounded, each with its own scale ("token-wise", ZeroQuant, arXiv 2206.01861), and integer sums of products are
exact: the result for a token does not depend on the other tokens.

Whether sums are exact depends on the processor, and so does which kernel is fastest: `is_exact` and the autotuners
measure it.
"""

import warnings
from abc import ABC, abstractmethod
from threading import Lock
from typing import ClassVar, Protocol

import torch
from torch import Tensor

LEAST = 1e-12  # minimum scale, for rows of zeros
PROBED = 1024, 384  # the shape of a probing matrix
ROWS = 32
LARGEST = 127  # code in a matrix
_PACKING = Lock()  # the library that packs is a setting of the whole process


class Kernel(Protocol):
    """Multiplies rows with one matrix, `weight` int8 [N, K] times `scale` [N]."""

    NAME: ClassVar[str]
    LEVELS: ClassVar[int]  # a row is rounded to this many levels on either side of zero

    def __init__(self, weight: Tensor, scale: Tensor) -> None: ...

    def product(self, x: Tensor) -> Tensor:
        """x [T, K] in float32 -> [T, N]"""


class _ScaledRows(ABC):
    """The part of a kernel that gives each row a scale of its own."""

    LEVELS: ClassVar[int]

    def product(self, x: Tensor) -> Tensor:
        """See `Kernel`."""
        scale = _scale(x, self.LEVELS)
        return self._rounded_product(x / scale).mul_(scale)

    @abstractmethod
    def _rounded_product(self, levels: Tensor) -> Tensor:
        """Round `levels` [T, K], which may be overwritten, and multiply."""


class OneDnn(_ScaledRows):
    """Fast on processors that multiply int8 and add in 32 bits (VNNI, AMX and similar).

    Rows are stored unsigned: without AMX, the library has a slow reference product for signed ones. It compiles and
    keeps code for each number of rows, so that number is rounded up to one of a few.
    """

    NAME: ClassVar = "int8"
    LEVELS: ClassVar = 127

    def __init__(self, weight: Tensor, scale: Tensor) -> None:
        """Raise RuntimeError or AttributeError if torch has no oneDNN."""
        self._packed = torch.ops.onednn.qlinear_prepack(weight.contiguous(), None)
        self._scale, self._zeros = scale, torch.zeros(len(weight), dtype=torch.int)
        self._multiply = torch.ops.onednn.qlinear_pointwise.default

    def _rounded_product(self, levels: Tensor) -> Tensor:
        # The rounded numbers are unsigned: zero is LEVELS + 1.
        zero, rows = self.LEVELS + 1, len(levels)
        rounded = torch.empty(_usual_rows(rows), levels.shape[1], dtype=torch.uint8)
        rounded[:rows] = levels.add_(zero + 0.5)  # the conversion rounds down
        product: Tensor = self._multiply(
            rounded, 1.0, zero, self._packed, self._scale, self._zeros, None, 1.0, 0, torch.float32, "none", [], ""
        )
        return product[:rows]


class Fbgemm(_ScaledRows):
    """Also fast with only AVX2 or AVX-512, which add two products in 16 bits: rows of 7 bits avoid overflow."""

    NAME: ClassVar = "int8 by FBGEMM"
    LEVELS: ClassVar = 63

    def __init__(self, weight: Tensor, scale: Tensor) -> None:
        """Raise RuntimeError or AttributeError if torch has no FBGEMM."""
        zeros = torch.zeros(len(weight), dtype=torch.long)
        with _PACKING:
            engine = torch.backends.quantized.engine  # the only way to select the library that packs
            torch.backends.quantized.engine = "fbgemm"
            try:
                with warnings.catch_warnings():
                    # The warning says that a later torch will remove it; then this kernel is not used.
                    warnings.simplefilter("ignore", UserWarning)
                    matrix = torch._make_per_channel_quantized_tensor(weight.contiguous(), scale.double(), zeros, 0)
                self._packed = torch.ops.quantized.linear_prepack(matrix, None)
            finally:
                torch.backends.quantized.engine = engine
        self._multiply = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32.default

    def _rounded_product(self, levels: Tensor) -> Tensor:
        product: Tensor = self._multiply(levels, 1.0, self.LEVELS + 1, self._packed)
        return product


KERNELS: tuple[type[Kernel], ...] = OneDnn, Fbgemm


def is_exact(kernel: type[Kernel]) -> bool:
    """Return whether a kernel is available and its sums do not overflow: some processors add neighbours in 16 bits."""
    try:
        multiply = kernel(torch.full(PROBED, LARGEST, dtype=torch.int8), torch.ones(PROBED[0]))
        product = multiply.product(torch.ones(ROWS, PROBED[1]))
    except (RuntimeError, AttributeError):
        return False
    exact = torch.full_like(product, float(LARGEST * PROBED[1]))
    return torch.allclose(product, exact, rtol=1e-5)


def _usual_rows(rows: int) -> int:
    """Return the next number of rows that is used: 1 to 4, then multiples of 4, 8 from 16 on, and 16 from 64 on."""
    step = next((step for most, step in ((4, 1), (16, 4), (64, 8)) if rows <= most), 16)
    return -(-rows // step) * step


def _scale(x: Tensor, levels: int) -> Tensor:
    return x.abs().amax(-1, keepdim=True).clamp_(min=LEAST).mul_(1 / levels)
