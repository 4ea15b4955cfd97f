"""The frozen trunk over rows in groups, with what is learned beside it.

A matrix is used as it is, with a low-rank term, or another one is used in its place: the weights say which.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from infill_engine.models.trunk.adapter import NAMES
from infill_engine.models.trunk.network import rotate, rotations
from train.trunk.frozen import FrozenLayer, FrozenTrunk
from train.trunk.products import PlainProduct, Product
from train.trunk.rows import Group, Rows
from train.trunk.terms import adapted, adapted_mlp, term

Products = Sequence[Mapping[str, Product]]  # of each layer, by the names of its matrices
KeysValues = tuple[Tensor, Tensor]  # keys, already rotated, and values of one layer, each [kv_heads, S, head_dim]
Kept = Mapping[int, KeysValues]  # keys and values of rows that were read before, by layer
NOTHING: Mapping[str, Tensor] = {}


@dataclass(frozen=True, slots=True)
class Attended:
    """What one group of rows attends to. `hidden` [rows, keys] is added to the scores of its keys."""

    group: Group
    hidden: Tensor

    @classmethod
    def of(cls, group: Group, like: Tensor) -> "Attended":
        """Return it in the type and on the device of a tensor."""
        seen = group.seen.to(like.device)
        return cls(group, torch.zeros(seen.shape, dtype=like.dtype, device=like.device).masked_fill_(~seen, -torch.inf))


def products_of(trunk: FrozenTrunk, kind: Callable[[Tensor, Tensor | None], Product] = PlainProduct) -> Products:
    """Return products with the trunk's matrices; `kind` makes one of a matrix and its bias."""

    def of(layer: FrozenLayer, name: str) -> Product:
        return kind(getattr(layer, name), layer.bias if name == "qkv" else None)

    return [{name: of(layer, name) for name in NAMES} for layer in trunk.layers]


def states_of(
    trunk: FrozenTrunk, products: Products, weights: Mapping[str, Tensor], rows: Rows, kept: Kept | None = None
) -> Tensor:
    """Return the normed states [T, D] of rows, in the trunk's type, which `weights` have, too."""
    return normed(trunk, forward(trunk, products, weights, embedded(trunk, rows), rows, kept)[0])


def embedded(trunk: FrozenTrunk, rows: Rows) -> Tensor:
    """Return the states [T, D] that rows begin with."""
    return trunk.embedding[rows.ids.to(trunk.norm.device)]


def normed(trunk: FrozenTrunk, states: Tensor) -> Tensor:
    """Return states [T, D] with the final norm applied."""
    return F.rms_norm(states, (trunk.config.dim,), trunk.norm, trunk.config.norm_epsilon)


def forward(
    trunk: FrozenTrunk,
    products: Products,
    weights: Mapping[str, Tensor],
    x: Tensor,
    rows: Rows,
    kept: Kept | None = None,
    layers: range | None = None,
) -> tuple[Tensor, dict[int, KeysValues]]:
    """Return the states of rows after some layers, or all, and their own keys and values in each.

    `x` [T, D] are their states before. `weights` may have, for a matrix, `layers.{i}.{name}.down` and `.up`, the
    low-rank term that is added to it, or `.weight` and `.bias`, which replace those of `qkv` or `out`.
    """
    config, made = trunk.config, {}
    turn = tuple(table.to(x.dtype) for table in rotations(config, rows.positions.to(x.device)))
    attended = [Attended.of(group, x) for group in rows.groups]
    for number in layers or range(config.layers):
        layer, product = trunk.layers[number], products[number]
        gate_up, down = (term(weights, number, name) for name in ("gate_up", "down"))
        inputs = F.rms_norm(x, (config.dim,), layer.attention_norm, config.norm_epsilon)
        joined = _times(products, weights, number, "qkv", inputs).unflatten(-1, (-1, config.head_dim)).transpose(0, 1)
        turned = rotate(joined[: config.heads + config.kv_heads], *turn)
        made[number] = turned[config.heads :], joined[-config.kv_heads :]
        seen = _attention(turned[: config.heads], made[number], kept[number] if kept else None, attended)
        x = x + _times(products, weights, number, "out", seen)
        inputs = F.rms_norm(x, (config.dim,), layer.mlp_norm, config.norm_epsilon)
        x = x + adapted_mlp(inputs, product["gate_up"], gate_up, product["down"], down)
    return x, made


def _times(products: Products, weights: Mapping[str, Tensor], layer: int, name: str, x: Tensor) -> Tensor:
    own = weights.get(f"layers.{layer}.{name}.weight")
    if own is not None:
        return F.linear(x, own, weights.get(f"layers.{layer}.{name}.bias"))
    return adapted(x, products[layer][name], term(weights, layer, name))


def _attention(queries: Tensor, own: KeysValues, kept: KeysValues | None, attended: Sequence[Attended]) -> Tensor:
    """Attention of queries [heads, T, hd] to own and kept keys, values [kv_heads, *, hd]. Returns [T, heads * hd]."""
    found = []
    for each in attended:
        group = each.group
        keys, values = (
            torch.cat([*(before[:, part] for part in group.kept), *(of[:, part] for part in group.own)], 1)
            for before, of in zip(kept or own, own, strict=True)
        )
        unlearned = sum(part.stop - part.start for part in group.kept)
        rows: Tensor = _Attend.apply(  # type: ignore[no-untyped-call]
            queries[:, group.first : group.last], keys, values, each.hidden, unlearned
        )
        found.append(rows.transpose(0, 1))
    return torch.cat(found).flatten(1)


class _Attend(torch.autograd.Function):
    """Attention of queries [heads, T, hd] to keys and values [kv_heads, S, hd] that keeps its weights.

    The query heads of a key head are rows of one product. The first `unlearned` keys and values get no gradients.
    """

    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor, values: Tensor, hidden: Tensor, unlearned: int) -> Tensor:
        heads, rows, size = queries.shape
        grouped = (queries * size**-0.5).reshape(len(keys), -1, size)
        scores = (grouped @ keys.transpose(1, 2)).view(heads, rows, -1).add_(hidden)
        weights = scores.softmax(-1).view(len(keys), -1, keys.shape[1])
        ctx.save_for_backward(grouped, keys, values, weights)
        ctx.unlearned = unlearned
        found: Tensor = (weights @ values).view(heads, rows, size)
        return found

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        grouped, keys, values, weights = ctx.saved_tensors
        of_found = gradients[0].reshape(grouped.shape)
        of_weights = of_found @ values.transpose(1, 2)
        of_scores = torch._softmax_backward_data(of_weights, weights, -1, weights.dtype)
        of_queries = (of_scores @ keys).mul_(grouped.shape[-1] ** -0.5).view(gradients[0].shape)
        of_keys, of_values = (
            _behind(ctx.unlearned, of[..., ctx.unlearned :].transpose(1, 2) @ by)
            for of, by in ((of_scores, grouped), (weights, of_found))
        )
        return of_queries, of_keys, of_values, None, None


def _behind(count: int, rows: Tensor) -> Tensor:
    """Return rows [*, S, D] behind `count` rows of zeros."""
    return F.pad(rows, (0, 0, count, 0)) if count else rows
