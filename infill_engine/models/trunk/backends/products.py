"""Products with the trunk's matrices in torch: in int8 on a CPU, or in a floating-point type."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor

from infill_engine.models.quantization.int8_kernels import KERNELS, Kernel, is_exact
from infill_engine.models.runtime.timing import quickest
from infill_engine.models.trunk.config import TrunkConfig

ROWS = 16  # of a pass over a tree of tokens
Product = Callable[[Tensor], Tensor]  # [T, in] -> [T, out], with the bias if there is one
Codes = NDArray[np.int8]  # [out, in]
Scales = NDArray[np.float32]  # one for each row [out]


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

    def of_rows(self, codes: Codes, scales: Scales, bias: Tensor | None = None) -> Product:
        """Return a product with a matrix whose rows are `codes * scale`."""
        return Int8Product(self.kernel(torch.from_numpy(codes), torch.from_numpy(scales)), bias)


@dataclass(frozen=True, slots=True)
class FloatProducts:
    """Makes products in a floating-point type."""

    device: str
    dtype: torch.dtype

    def of(self, matrix: Tensor, bias: Tensor | None = None) -> Product:
        """Return a product with a matrix [out, in] and a bias [out]."""
        weight = matrix.to(self.device, self.dtype)
        return partial(F.linear, weight=weight, bias=None if bias is None else bias.to(self.device, self.dtype))

    def of_rows(self, codes: Codes, scales: Scales, bias: Tensor | None = None) -> Product:
        """Return a product with a matrix whose rows are `codes * scale`."""
        return self.of(torch.from_numpy(codes).float().mul_(torch.from_numpy(scales)[:, None]), bias)


def fastest_kernel(
    config: TrunkConfig, rows: int = ROWS, kernels: Sequence[type[Kernel]] = KERNELS
) -> type[Kernel] | None:
    """Return the int8 kernel that multiplies `rows` rows with a large matrix fastest here; None if none works."""
    shape = (2 * config.hidden, config.dim)
    usable = [kernel for kernel in kernels if is_exact(kernel)]
    matrices = {kernel: kernel(torch.ones(shape, dtype=torch.int8), torch.ones(shape[0])) for kernel in usable}
    x = torch.ones(rows, config.dim)
    return quickest({kernel: partial(matrix.product, x) for kernel, matrix in matrices.items()}) if usable else None
