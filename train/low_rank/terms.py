"""Low-rank terms beside frozen matrices (LoRA, arXiv 2106.09685): a product becomes W x + up (down x).

Both functions compute their gradients by hand: none for the frozen matrices, and fewer kept tensors than autograd has.
"""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from train.low_rank.products import Product


class Term(NamedTuple):
    """A low-rank term in the trunk's type."""

    down: Tensor  # [rank, in]
    up: Tensor  # [out, rank]


def adapted(x: Tensor, product: Product, term: Term) -> Tensor:
    """Return the product of x [T, in] with a frozen matrix and its low-rank term [T, out]."""
    found: Tensor = _Adapted.apply(x, *term, product)  # type: ignore[no-untyped-call]
    return found


def adapted_mlp(x: Tensor, first: Product, first_term: Term, second: Product, second_term: Term) -> Tensor:
    """Return the SwiGLU of x [T, D]; `first` yields both halves side by side."""
    found: Tensor = _AdaptedMlp.apply(x, *first_term, *second_term, first, second)  # type: ignore[no-untyped-call]
    return found


class _Adapted(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, down: Tensor, up: Tensor, product: Product) -> Tensor:
        inner = F.linear(x, down)
        ctx.save_for_backward(x, inner, down, up)
        ctx.product = product
        return product.times(x).addmm_(inner, up.t())

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        x, inner, down, up = ctx.saved_tensors
        of_x, of_down, of_up = _back(gradients[0], x, inner, down, up, ctx.product)
        return of_x, of_down, of_up, None


class _AdaptedMlp(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        first_down: Tensor,
        first_up: Tensor,
        second_down: Tensor,
        second_up: Tensor,
        first: Product,
        second: Product,
    ) -> Tensor:
        inner = F.linear(x, first_down)
        both = first.times(x).addmm_(inner, first_up.t())
        gate, up = both.chunk(2, -1)
        inside = F.silu(gate).mul_(up)
        second_inner = F.linear(inside, second_down)
        ctx.save_for_backward(x, inner, both, second_inner, first_down, first_up, second_down, second_up)
        ctx.products = first, second
        return second.times(inside).addmm_(second_inner, second_up.t())

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, inner, both, second_inner, first_down, first_up, second_down, second_up = ctx.saved_tensors
        first, second = ctx.products
        gate, up = both.chunk(2, -1)
        active = F.silu(gate)
        found = _back(gradients[0], active * up, second_inner, second_down, second_up, second)
        of_inside, of_second_down, of_second_up = found
        learned = torch.empty_like(both)
        of_gate, of_up = learned.chunk(2, -1)
        torch.mul(of_inside, active, out=of_up)
        torch.ops.aten.silu_backward.grad_input(of_inside.mul_(up), gate, grad_input=of_gate)
        of_x, of_first_down, of_first_up = _back(learned, x, inner, first_down, first_up, first)
        return of_x, of_first_down, of_first_up, of_second_down, of_second_up, None, None


def _back(
    gradient: Tensor, x: Tensor, inner: Tensor, down: Tensor, up: Tensor, product: Product
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of x, `down` and `up` for that of the output [T, out]. `inner` is down x."""
    of_inner = gradient @ up
    return product.back(gradient).addmm_(of_inner, down), of_inner.t() @ x, (inner.t() @ gradient).t()
