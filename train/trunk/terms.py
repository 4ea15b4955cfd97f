"""Low-rank terms beside frozen matrices (LoRA, arXiv 2106.09685): a product becomes W x + up (down x).

Both functions compute their gradients by hand: none for the frozen matrices, and fewer kept tensors than autograd has.
Without a term, only the gradient of x.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from train.trunk.products import Product

DOWN, UP = "down", "up"


class Term(NamedTuple):
    """A low-rank term in the trunk's type."""

    down: Tensor  # [rank, in]
    up: Tensor  # [out, rank]


NO_TERM = None, None


def term(weights: Mapping[str, Tensor], layer: int, name: str) -> Term | None:
    """Return the term of a layer's matrix, if the weights have one."""
    down = weights.get(f"layers.{layer}.{name}.{DOWN}")
    return None if down is None else Term(down, weights[f"layers.{layer}.{name}.{UP}"])


def adapted(x: Tensor, product: Product, term: Term | None) -> Tensor:
    """Return the product of x [T, in] with a frozen matrix and its low-rank term [T, out]."""
    found: Tensor = _Adapted.apply(x, *(term or NO_TERM), product)  # type: ignore[no-untyped-call]
    return found


def adapted_mlp(
    x: Tensor, first: Product, first_term: Term | None, second: Product, second_term: Term | None
) -> Tensor:
    """Return the SwiGLU of x [T, D]; `first` yields both halves side by side."""
    found: Tensor = _AdaptedMlp.apply(  # type: ignore[no-untyped-call]
        x, *(first_term or NO_TERM), *(second_term or NO_TERM), first, second
    )
    return found


class _Adapted(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, down: Tensor | None, up: Tensor | None, product: Product) -> Tensor:
        found, inner = _times(x, down, up, product)
        ctx.save_for_backward(x, inner, down, up)
        ctx.product = product
        return found

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, inner, down, up = ctx.saved_tensors
        return *_back(gradients[0], x, inner, down, up, ctx.product), None


class _AdaptedMlp(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        first_down: Tensor | None,
        first_up: Tensor | None,
        second_down: Tensor | None,
        second_up: Tensor | None,
        first: Product,
        second: Product,
    ) -> Tensor:
        both, inner = _times(x, first_down, first_up, first)
        gate, up = both.chunk(2, -1)
        found, second_inner = _times(F.silu(gate).mul_(up), second_down, second_up, second)
        ctx.save_for_backward(x, inner, first_down, first_up, both, second_inner, second_down, second_up)
        ctx.products = first, second
        return found

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, inner, first_down, first_up, both, second_inner, second_down, second_up = ctx.saved_tensors
        first, second = ctx.products
        gate, up = both.chunk(2, -1)
        active = F.silu(gate)
        found = _back(gradients[0], active * up, second_inner, second_down, second_up, second)
        of_inside, of_second_down, of_second_up = found
        learned = torch.empty_like(both)
        of_gate, of_up = learned.chunk(2, -1)
        torch.mul(of_inside, active, out=of_up)
        torch.ops.aten.silu_backward.grad_input(of_inside.mul_(up), gate, grad_input=of_gate)
        of_first = _back(learned, x, inner, first_down, first_up, first)
        return *of_first, of_second_down, of_second_up, None, None


def _times(x: Tensor, down: Tensor | None, up: Tensor | None, product: Product) -> tuple[Tensor, Tensor | None]:
    """Return W x + up (down x) [T, out], and down x; without a term, W x."""
    if down is None or up is None:
        return product.times(x), None
    inner = F.linear(x, down)
    return product.times(x).addmm_(inner, up.t()), inner


def _back(
    gradient: Tensor, x: Tensor, inner: Tensor | None, down: Tensor | None, up: Tensor | None, product: Product
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Return the gradients of x, `down` and `up` for that of the output [T, out]. `inner` is down x."""
    if inner is None or down is None or up is None:
        return product.back(gradient), None, None
    of_inner = gradient @ up
    return product.back(gradient).addmm_(of_inner, down), of_inner.t() @ x, (inner.t() @ gradient).t()
