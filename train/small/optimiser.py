"""Muon for the matrices of the layers, AdamW for embeddings, norms and the rest."""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.optim import AdamW, Optimizer

from infill_engine.models.small.network.dual_encoder import DualEncoder
from train.small.muon import Muon
from train.small.precision import dtype_of

MUON_RATE = 2e-3  # Muon's steps are as large as AdamW's
ADAM_RATE = 3e-3
MOST_GRADIENT = 1.0  # largest gradient norm over all parameters


def optimisers_of(model: DualEncoder) -> list[Optimizer]:
    """Return the two optimisers. Together they own every parameter once."""
    matrices: list[Tensor] = []
    others: list[Tensor] = []
    for name, parameter in _trained(model):
        is_matrix = parameter.ndim == 2 and not isinstance(
            model.get_submodule(name.rpartition(".")[0]), torch.nn.Embedding
        )
        (matrices if is_matrix else others).append(parameter)
    dtype = dtype_of(matrices[0].device)
    return [
        Muon(matrices, lr=MUON_RATE, weight_decay=0.05, momentum=0.95, dtype=dtype),
        AdamW(others, lr=ADAM_RATE, weight_decay=0.0, betas=(0.9, 0.97), eps=1e-9, fused=True),
    ]


def set_rate(optimisers: list[Optimizer], share: float) -> None:
    """Set every learning rate to `share` of its peak."""
    for optimiser, peak in zip(optimisers, (MUON_RATE, ADAM_RATE), strict=True):
        for group in optimiser.param_groups:
            group["lr"] = peak * share


def take_step(model: DualEncoder, optimisers: list[Optimizer], loss: Tensor) -> bool:
    """Take one step with the clipped gradient of `loss`. If it is not finite, change nothing and return False."""
    loss.backward()
    finite = bool(torch.nn.utils.clip_grad_norm_(model.parameters(), MOST_GRADIENT).isfinite())
    for optimiser in optimisers:
        if finite:
            optimiser.step()
        optimiser.zero_grad(set_to_none=True)
    return finite


def _trained(model: DualEncoder) -> Iterator[tuple[str, Tensor]]:
    return ((name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad)
