"""The low-rank terms of all matrices of a trunk: their beginning, their type in a pass, and their file.

The file is described in `infill_engine.models.trunk.edit_adapter`.
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from infill_engine.models.trunk.adapter import NAMES
from infill_engine.models.trunk.files.shards import write_shard
from train.denoiser.frozen import FrozenTrunk
from train.low_rank.terms import Term

FIRST_SPREAD = 2.0  # of the products of `down` with inputs of spread 1, before training
DOWN, UP = "down", "up"


def new_adapter(trunk: FrozenTrunk, rank: int, seed: int = 0) -> dict[str, Tensor]:
    """Return terms in float32 that change nothing yet: `up` is zero."""
    chance = torch.Generator().manual_seed(seed)
    made = {}
    for number, layer in enumerate(trunk.layers):
        for name in NAMES:
            out, width = getattr(layer, name).shape
            drawn = torch.randn(rank, width, generator=chance) * (FIRST_SPREAD / width**0.5)
            made[f"layers.{number}.{name}.{DOWN}"] = drawn.to(trunk.norm.device)
            made[f"layers.{number}.{name}.{UP}"] = torch.zeros(out, rank, device=trunk.norm.device)
    return made


def in_type(adapter: Mapping[str, Tensor], dtype: torch.dtype) -> dict[str, Tensor]:
    """Return the terms in another type, as a pass uses them."""
    return {name: each.detach().to(dtype) for name, each in adapter.items()}


def term(weights: Mapping[str, Tensor], layer: int, name: str) -> Term:
    """Return a term of weights that `in_type` returned."""
    return Term(weights[f"layers.{layer}.{name}.{DOWN}"], weights[f"layers.{layer}.{name}.{UP}"])


def write_adapter(path: Path, adapter: Mapping[str, Tensor], made_for: str) -> None:
    """Write the terms for the trunk that `made_for` identifies."""
    arrays = {name: each.cpu().numpy() for name, each in in_type(adapter, torch.float16).items()}
    write_shard(path, arrays, made_for)
