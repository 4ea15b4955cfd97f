"""The frozen trunk with low-rank terms, over rows in groups."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from infill_engine.models.trunk.adapter import NAMES
from infill_engine.models.trunk.network import rotate, rotations
from train.denoiser.frozen import FrozenLayer, FrozenTrunk
from train.low_rank.adapter import term
from train.low_rank.products import PlainProduct, Product
from train.low_rank.rows import Group, Rows
from train.low_rank.terms import adapted, adapted_mlp

Products = Sequence[Mapping[str, Product]]  # of each layer, by the names of its matrices


@dataclass(frozen=True, slots=True)
class Attended:
    """What one group of rows attends to: which keys, and what is added to their scores."""

    group: Group
    keys: tuple[slice, ...]
    hidden: Tensor  # [rows, keys]


def products_of(trunk: FrozenTrunk, kind: Callable[[Tensor, Tensor | None], Product] = PlainProduct) -> Products:
    """Return products with the trunk's matrices; `kind` makes one of a matrix and its bias."""

    def of(layer: FrozenLayer, name: str) -> Product:
        return kind(getattr(layer, name), layer.bias if name == "qkv" else None)

    return [{name: of(layer, name) for name in NAMES} for layer in trunk.layers]


def states_of(trunk: FrozenTrunk, products: Products, weights: Mapping[str, Tensor], rows: Rows) -> Tensor:
    """Return the normed states [T, D] of rows, in the trunk's type. `weights` are an adapter in that type."""
    config, dtype = trunk.config, trunk.norm.dtype
    device = trunk.norm.device
    x = trunk.embedding[rows.ids.to(device)]
    turn = tuple(table.to(dtype) for table in rotations(config, rows.positions.to(device)))
    attended = [_attended(group, rows.shared, x) for group in rows.groups]
    for number, layer in enumerate(trunk.layers):
        product, terms = products[number], {name: term(weights, number, name) for name in NAMES}
        inputs = F.rms_norm(x, (config.dim,), layer.attention_norm, config.norm_epsilon)
        joined = adapted(inputs, product["qkv"], terms["qkv"]).unflatten(-1, (-1, config.head_dim)).transpose(0, 1)
        turned = rotate(joined[: config.heads + config.kv_heads], *turn)
        seen = _attention(turned[: config.heads], turned[config.heads :], joined[-config.kv_heads :], attended)
        x = x + adapted(seen, product["out"], terms["out"])
        inputs = F.rms_norm(x, (config.dim,), layer.mlp_norm, config.norm_epsilon)
        x = x + adapted_mlp(inputs, product["gate_up"], terms["gate_up"], product["down"], terms["down"])
    found: Tensor = F.rms_norm(x, (config.dim,), trunk.norm, config.norm_epsilon)
    return found


def _attended(group: Group, shared: int, like: Tensor) -> Attended:
    own = slice(group.first, group.last)
    seen = group.seen.to(like.device)
    hidden = torch.zeros(seen.shape, dtype=like.dtype, device=like.device).masked_fill_(~seen, -torch.inf)
    return Attended(group, (own,) if group.first == 0 else (slice(shared), own), hidden)


def _attention(queries: Tensor, keys: Tensor, values: Tensor, attended: Sequence[Attended]) -> Tensor:
    """Attention of queries [heads, T, hd] to keys and values [kv_heads, T, hd]. Returns [T, heads * hd]."""
    found = []
    for each in attended:
        own = queries[:, each.group.first : each.group.last]
        seen_keys, seen_values = (torch.cat([of[:, one] for one in each.keys], 1) for of in (keys, values))
        found.append(_attend(own, seen_keys, seen_values, each.hidden))
    return torch.cat(found).flatten(1)


def _attend(queries: Tensor, keys: Tensor, values: Tensor, hidden: Tensor) -> Tensor:
    """Attention of queries [heads, T, hd] to keys and values [kv_heads, S, hd]. Returns [T, heads, hd]."""
    found: Tensor = _Attend.apply(queries, keys, values, hidden)  # type: ignore[no-untyped-call]
    return found.transpose(0, 1)


class _Attend(torch.autograd.Function):
    """Attention that keeps its weights. The query heads of a key head are rows of one product."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor, values: Tensor, hidden: Tensor) -> Tensor:
        heads, rows, size = queries.shape
        grouped = (queries * size**-0.5).reshape(len(keys), -1, size)
        scores = (grouped @ keys.transpose(1, 2)).view(heads, rows, -1).add_(hidden)
        weights = scores.softmax(-1).view(len(keys), -1, keys.shape[1])
        ctx.save_for_backward(grouped, keys, values, weights)
        found: Tensor = (weights @ values).view(heads, rows, size)
        return found

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        grouped, keys, values, weights = ctx.saved_tensors
        of_found = gradients[0].reshape(grouped.shape)
        of_weights = of_found @ values.transpose(1, 2)
        of_scores = torch._softmax_backward_data(of_weights, weights, -1, weights.dtype)
        of_queries = (of_scores @ keys).mul_(grouped.shape[-1] ** -0.5).view(gradients[0].shape)
        return of_queries, of_scores.transpose(1, 2) @ grouped, weights.transpose(1, 2) @ of_found, None
