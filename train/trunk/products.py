"""Products with a frozen matrix, forward and backward. A frozen matrix has no gradient of its own."""

from dataclasses import dataclass
from typing import Protocol

import torch.nn.functional as F  # noqa: N812
from torch import Tensor


class Product(Protocol):
    """Multiplies rows with a frozen matrix [out, in]. Results are new tensors, which may be overwritten."""

    def times(self, x: Tensor) -> Tensor:
        """x [T, in] -> [T, out], with the bias if there is one."""

    def back(self, gradient: Tensor) -> Tensor:
        """The gradient of the output [T, out] -> that of the input [T, in]."""


@dataclass(frozen=True, slots=True)
class PlainProduct:
    """A matrix in the trunk's own type."""

    matrix: Tensor
    bias: Tensor | None = None

    def times(self, x: Tensor) -> Tensor:
        """See `Product`."""
        return F.linear(x, self.matrix, self.bias)

    def back(self, gradient: Tensor) -> Tensor:
        """See `Product`."""
        return gradient @ self.matrix
