"""The frozen trunk for training: its matrices with the adapter merged, as plain tensors on one device."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import torch
from torch import Tensor

from infill_engine.models.trunk.adapter import Adapter
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.files.weights import TrunkWeights
from infill_engine.models.trunk.merged import Floats, MergedWeights
from infill_engine.models.trunk.smoothing import Smoothing


@dataclass(frozen=True, slots=True)
class FrozenLayer:
    """The tensors of one decoder layer; matrices are [out, in]."""

    attention_norm: Tensor  # [D]
    mlp_norm: Tensor  # [D]
    qkv: Tensor  # [query_size + 2 * kv_size, D]
    bias: Tensor  # [query_size + 2 * kv_size]
    out: Tensor  # [D, query_size]
    gate_up: Tensor  # [2 * hidden, D]
    down: Tensor  # [D, hidden]


@dataclass(frozen=True, slots=True)
class FrozenTrunk:
    """All layers, the norm after them [D], and the embedding [V, D], which is also the head."""

    config: TrunkConfig
    layers: Sequence[FrozenLayer]
    norm: Tensor
    embedding: Tensor


@torch.no_grad()
def load_frozen(folder: Path, trained: Path, device: str = "cpu", dtype: torch.dtype = torch.bfloat16) -> FrozenTrunk:
    """Return the trunk in `folder` with the adapter in `trained`, smoothed as served. Raises ModelDamagedError."""
    weights = TrunkWeights(folder)
    merged = MergedWeights(weights, Adapter.load(trained), Smoothing.load(folder))

    def tensor(array: Floats) -> Tensor:
        return torch.from_numpy(array).to(device, dtype)

    def layer(number: int) -> FrozenLayer:
        found = merged.layer(number)
        return FrozenLayer(*(tensor(getattr(found, field.name)) for field in fields(FrozenLayer)))

    layers = [layer(number) for number in range(weights.config.layers)]
    codes, scales = map(torch.from_numpy, weights.embedding())
    embedding = torch.cat([part.float() * scale[:, None] for part, scale in _in_parts(codes, scales)])
    return FrozenTrunk(weights.config, layers, tensor(weights.read_vector("norm")), embedding.to(device, dtype))


def _in_parts(codes: Tensor, scales: Tensor) -> list[tuple[Tensor, Tensor]]:
    return list(zip(codes.split(8192), scales.split(8192), strict=True))
