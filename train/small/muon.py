"""Muon with a configurable dtype. torch's own supports only bfloat16, which many processors multiply slowly."""

from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor
from torch.optim import Optimizer

# Coefficients and number of iterations of the quintic iteration (Jordan et al., 2024,
# kellerjordan.github.io/posts/muon).
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
ITERATIONS = 5
LEAST_NORM = 1e-7
# Makes a step as large as AdamW's would be (Liu et al., 2025, arXiv 2502.16982).
LIKE_ADAMW = 0.2


class Muon(Optimizer):
    """Steps along orthogonalised Nesterov momentum, for matrices only. Matrices of equal shape are multiplied together.

    `dtype` is the type of those products; parameters and momentum keep theirs. Weight decay is decoupled.
    """

    def __init__(
        self, matrices: Iterable[Tensor], lr: float, weight_decay: float, momentum: float, dtype: torch.dtype
    ) -> None:
        super().__init__(matrices, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum})
        self._dtype = dtype

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]  # noqa: ARG002
        """Take one step for every parameter that has a gradient."""
        for group in self.param_groups:
            alike: dict[torch.Size, list[Tensor]] = defaultdict(list)
            for matrix in group["params"]:
                if matrix.grad is not None:
                    alike[matrix.shape].append(matrix)
            for shape, matrices in alike.items():
                momenta = torch.stack([self._momentum(matrix, group["momentum"]) for matrix in matrices])
                directions = orthogonal(momenta.to(self._dtype)).to(momenta.dtype)
                for matrix, direction in zip(matrices, directions, strict=True):
                    matrix.mul_(1 - group["lr"] * group["weight_decay"])
                    matrix.add_(direction, alpha=-group["lr"] * LIKE_ADAMW * max(shape) ** 0.5)

    def _momentum(self, matrix: Tensor, share: float) -> Tensor:
        gradient = matrix.grad
        assert gradient is not None
        state = self.state[matrix]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(gradient)
        kept: Tensor = state["momentum_buffer"]
        kept.lerp_(gradient, 1 - share)
        return gradient.lerp(kept, share)


def orthogonal(matrices: Tensor) -> Tensor:
    """Return matrices [N, a, b] with their singular values moved towards 1, to about 0.7 to 1.2."""
    first, second, third = COEFFICIENTS
    wide = matrices.mT if matrices.shape[1] > matrices.shape[2] else matrices
    wide = wide / wide.norm(dim=(1, 2), keepdim=True).clamp(min=LEAST_NORM)
    for _ in range(ITERATIONS):
        gram = wide @ wide.mT
        wide = torch.baddbmm(wide, torch.baddbmm(gram, gram, gram, beta=second, alpha=third), wide, beta=first)
    return wide.mT if matrices.shape[1] > matrices.shape[2] else wide
