"""Products with the trunk's matrices in torch, in a floating-point type."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor

from infill_engine.models.trunk.edit_adapter import Term

Product = Callable[[Tensor], Tensor]  # [T, in] -> [T, out], with the bias if there is one
Codes = NDArray[np.int8]  # [out, in]
Scales = NDArray[np.float32]  # one for each row [out]


@dataclass(frozen=True, slots=True)
class FloatProducts:
    """Makes products in a floating-point type."""

    device: str
    dtype: torch.dtype

    def of(self, matrix: Tensor, bias: Tensor | None = None) -> Product:
        """Return a product with a matrix [out, in] and a bias [out]."""
        weight = matrix.to(self.device, self.dtype)
        return partial(F.linear, weight=weight, bias=None if bias is None else bias.to(self.device, self.dtype))

    def plus(self, product: Product, term: Term) -> Product:
        """Return a product with a low-rank term added."""
        down, up = (self.of(torch.from_numpy(np.array(side, np.float32))) for side in term)
        return lambda x: product(x) + up(down(x))

    def of_rows(self, codes: Codes, scales: Scales, bias: Tensor | None = None) -> Product:
        """Return a product with a matrix whose rows are `codes * scale`."""
        return self.of(torch.from_numpy(codes).float().mul_(torch.from_numpy(scales)[:, None]), bias)
