"""Linear maps trained with int8 products, on processors that multiply these several times faster.

Weights, gradients and optimisers stay float32. The two factors of each product are rounded, in the forward pass and in
both products of the backward pass, with one scale per row or column that is not summed over. This follows SwitchBack
(arXiv 2304.13013), which however leaves the gradient of the weights exact. The output matrix is never rounded: the
gradient of a token's logits is one large number among thousands of tiny ones, which would all become zero.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function

from infill_engine.models.quantization.int8_kernels import LARGEST, LEAST
from infill_engine.models.small.network.dual_encoder import DualEncoder

ROWS, COLUMNS = 1, 0  # the dimension reduced to find the scale of each row, of each column


class RoundedLinear(nn.Linear):
    """An `nn.Linear` without bias whose three products are of int8."""

    def forward(self, x: Tensor) -> Tensor:
        """x [..., K] -> [..., N]"""
        product: Tensor = _Product.apply(x.flatten(0, -2), self.weight)  # type: ignore[no-untyped-call]
        return product.view(*x.shape[:-1], -1)


def round_products(network: DualEncoder) -> None:
    """Make the layers' linear maps multiply in int8 from now on. The parameters stay the same objects."""
    for stack in (network.encoder, network.decoder):
        for module in list(stack.modules()):
            for name, child in list(module.named_children()):
                if type(child) is nn.Linear:
                    rounded = RoundedLinear(child.in_features, child.out_features, bias=False, device="meta")
                    rounded.weight = child.weight
                    setattr(module, name, rounded)


class _Product(Function):
    """x [T, K] by weight [N, K] -> [T, N]"""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        levels, scale = _round(x, ROWS)
        weight_levels, weight_scale = _round(weight, ROWS)
        return torch._int_mm(levels, weight_levels.t()).float() * scale * weight_scale.t()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        levels, scale = _round(gradient, ROWS)
        weight_levels, weight_scale = _round(weight, COLUMNS)
        of_x = torch._int_mm(levels, weight_levels).float() * scale * weight_scale
        levels, scale = _round(gradient, COLUMNS)
        x_levels, x_scale = _round(x, COLUMNS)
        of_weight = torch._int_mm(levels.t(), x_levels).float() * scale.t() * x_scale
        return of_x, of_weight


def _round(matrix: Tensor, reduced: int) -> tuple[Tensor, Tensor]:
    """Round a matrix to symmetric int8. Returns scales that broadcast over it, too."""
    matrix = matrix.float()  # in bfloat16 the largest number could become 128
    scale = torch.linalg.vector_norm(matrix, float("inf"), reduced, keepdim=True).clamp(min=LEAST) / LARGEST
    return (matrix / scale).round().to(torch.int8), scale
