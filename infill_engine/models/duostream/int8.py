"""Matrices as int8 with a scale for each row: so they are stored, and so a CPU may keep them and multiply with them.

Then activations are quantised, too, each token with a scale of its own ("token-wise", ZeroQuant, arXiv 2206.01861).
Sums of products of integers are exact: what a token becomes does not depend on the tokens beside it.
"""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from infill_engine.models.devices import wanted_threads
from infill_engine.models.timing import best_seconds

LEVELS = 127
LEAST = 1e-12  # of a scale: a row of nothing but zeros has one, too
PROBED = 1024, 384  # a matrix of the default's
ROWS = 32


def quantise(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Symmetric int8 with one scale a row: matrix [R, C] -> int8 [R, C], float32 scales [R]."""
    scale = matrix.abs().amax(1).clamp(min=LEAST) / LEVELS
    return (matrix / scale[:, None]).round().to(torch.int8), scale


def dequantise(quantised: Tensor, scale: Tensor) -> Tensor:
    """The inverse of `quantise`, in float32."""
    return quantised.float() * scale[:, None]


class Int8Linear(nn.Module):
    """Takes the place of an `nn.Linear` without bias, for serving on a CPU: `weight` int8 [N, K], `scale` [N]."""

    weight: Tensor
    scale: Tensor

    def __init__(self, weight: Tensor, scale: Tensor) -> None:
        super().__init__()
        self.out_features = len(weight)
        self.register_buffer("weight", weight)
        self.register_buffer("scale", scale)

    def forward(self, x: Tensor) -> Tensor:
        """x [..., K] -> [..., N]"""
        return self.product(x)

    def product(self, x: Tensor) -> Tensor:
        """x [..., K] by the matrix -> [..., N]"""
        tokens = x.flatten(0, -2).float()  # in bfloat16 the largest number of a token could become 128
        scale = tokens.abs().amax(-1, keepdim=True).clamp_(min=LEAST).mul_(1 / LEVELS)
        product = torch._int_mm((tokens / scale).round_().to(torch.int8), self.weight.t())
        return product.float().mul_(scale).mul_(self.scale).to(x.dtype).view(*x.shape[:-1], -1)

    @staticmethod
    def joined(linears: Sequence["Int8Linear"]) -> "Int8Linear":
        """One for all of these, of the same input: what they put out stands side by side."""
        return Int8Linear(torch.cat([each.weight for each in linears]), torch.cat([each.scale for each in linears]))


class Int8Embedding(Int8Linear):
    """Takes the place of an `nn.Embedding` of `weight` [V, D], which may be multiplied with, too."""

    def __init__(self, weight: Tensor, scale: Tensor, dtype: torch.dtype) -> None:
        super().__init__(weight, scale)
        self._dtype = dtype

    def forward(self, ids: Tensor) -> Tensor:
        """ids [...] -> [..., D]"""
        return (self.weight[ids] * self.scale[ids].unsqueeze(-1)).to(self._dtype)


def make_room(network: nn.Module, dtype: torch.dtype) -> None:
    """Replaces what holds a matrix in a network without biases by what holds it in int8, and computes in `dtype`."""
    for module in list(network.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear | nn.Embedding):
                weight, scale = torch.empty(child.weight.shape, dtype=torch.int8), torch.empty(len(child.weight))
                embeds = isinstance(child, nn.Embedding)
                held = Int8Embedding(weight, scale, dtype) if embeds else Int8Linear(weight, scale)
                setattr(module, name, held)


def settle(dtype: torch.dtype, kinds: Sequence[bool] = (False, True)) -> bool:
    """Has torch use as many threads as multiply fastest here, all or one; whether that is in int8 (or in `dtype`).

    Measured now. `kinds` are what may be chosen from. Matrices are small: what threads cost to wake is more than they
    save on some machines, and less in one precision than in the other. INFILL_THREADS overrides.
    """
    x, weight = torch.ones(ROWS, PROBED[1], dtype=dtype), torch.ones(PROBED, dtype=dtype)
    ways: dict[bool, Callable[[], Tensor]] = {}
    if True in kinds and _is_exact():
        ways[True] = partial(Int8Linear(*quantise(weight.float())), x)
    if False in kinds or not ways:
        ways[False] = partial(F.linear, x, weight)
    most = torch.get_num_threads()
    seconds: dict[tuple[int, bool], float] = {}
    for threads in {most} if wanted_threads() else {1, most}:
        torch.set_num_threads(threads)
        seconds |= {(threads, in_int8): took for in_int8, took in best_seconds(ways).items()}
    threads, in_int8 = min(seconds, key=seconds.__getitem__)
    torch.set_num_threads(threads)
    return in_int8


def _is_exact() -> bool:
    """Whether products are: without instructions for them a processor adds neighbours in 16 bits, which overflow."""
    largest = torch.full(PROBED, LEVELS, dtype=torch.int8)
    return bool((torch._int_mm(largest[:ROWS], largest.t()) == LEVELS * LEVELS * PROBED[1]).all())
