"""Products with the trunk's matrices: int8 on a CPU, half precision on a GPU, and which kernel is fastest here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from infill_engine.models.quantization.int8_kernels import KERNELS, Kernel, is_exact
from infill_engine.models.quantization.int8_linear import quantise
from infill_engine.models.runtime.timing import quickest
from infill_engine.models.trunk.config import TrunkConfig

ROWS = 16  # of the measured pass: those of two candidates
Product = Callable[[Tensor], Tensor]


class MakeProduct(Protocol):
    """Makes products with given matrices."""

    def of(self, matrix: Tensor, bias: Tensor | None = None) -> Product:
        """Return a product with a matrix [out, in] in float32 and a bias [out]."""

    def of_rows(self, codes: Tensor, scales: Tensor) -> Product:
        """Return a product with a matrix of int8 codes [out, in] with a scale for each row [out]."""


@dataclass(frozen=True, slots=True)
class Int8Product:
    """x [T, in] -> [T, out] in float32, with an int8 matrix."""

    kernel: Kernel
    bias: Tensor | None

    def __call__(self, x: Tensor) -> Tensor:
        product = self.kernel.product(x)
        return product if self.bias is None else product.add_(self.bias)


@dataclass(frozen=True, slots=True)
class Int8Products:
    """Makes products that use an int8 kernel."""

    kernel: type[Kernel]

    def of(self, matrix: Tensor, bias: Tensor | None = None) -> Product:
        """See `MakeProduct`."""
        return Int8Product(self.kernel(*quantise(matrix)), bias)

    def of_rows(self, codes: Tensor, scales: Tensor) -> Product:
        """See `MakeProduct`."""
        return Int8Product(self.kernel(codes, scales), None)


@dataclass(frozen=True, slots=True)
class FloatProducts:
    """Makes products in a floating-point type."""

    device: str
    dtype: torch.dtype

    def of(self, matrix: Tensor, bias: Tensor | None = None) -> Product:
        """See `MakeProduct`."""
        weight = matrix.to(self.device, self.dtype)
        return partial(F.linear, weight=weight, bias=None if bias is None else bias.to(self.device, self.dtype))

    def of_rows(self, codes: Tensor, scales: Tensor) -> Product:
        """See `MakeProduct`."""
        return self.of(codes.float().mul_(scales[:, None]))


def fastest_kernel(config: TrunkConfig, kernels: Sequence[type[Kernel]] = KERNELS) -> type[Kernel] | None:
    """Return the fastest int8 kernel on this CPU; None if none works.

    One layer's matrices are multiplied with ROWS rows by each kernel.
    """
    usable = [kernel for kernel in kernels if is_exact(kernel)]
    if not usable:
        return None
    layers = {kernel: _layer(config, kernel) for kernel in usable}
    inputs = [torch.ones(ROWS, config.dim), torch.ones(ROWS, config.hidden)]

    @torch.inference_mode()
    def run(kernel: type[Kernel]) -> None:
        for product in layers[kernel]:
            product(inputs[0] if product is not layers[kernel][-1] else inputs[1])

    return quickest({kernel: partial(run, kernel) for kernel in usable})


def _layer(config: TrunkConfig, kernel: type[Kernel]) -> list[Product]:
    """Return products with the shapes of one layer and arbitrary weights; the MLP's down projection comes last."""
    make = Int8Products(kernel)
    shapes = (
        (config.query_size + 2 * config.kv_size, config.dim),
        (config.dim, config.query_size),
        (2 * config.hidden, config.dim),
        (config.dim, config.hidden),
    )
    return [make.of(torch.ones(shape)) for shape in shapes]
