"""Attention for the rows of many holes that share a prefix and otherwise see only their own hole.

A single mask over all rows and keys would be three quarters empty and cost as much as a full one.
"""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from infill_engine.models.trunk.network import KeysValues
from train.trunk.data import Pass


def attend_in_groups(queries: Tensor, prefix: KeysValues, own: KeysValues, rows: Pass) -> Tensor:
    """Attend from rows with `queries` [heads, T, hd] to the prefix [kv_heads, P, hd] and to own keys.

    `own` are the keys and values [kv_heads, K, hd] that `rows.keys` indexes. Returns [T, heads * hd].
    """
    holes = len(rows.group)
    keys, values = (
        torch.cat([shared.expand(holes, *shared.shape), each[:, rows.keys].transpose(0, 1)], 2)
        for shared, each in zip(prefix, own, strict=True)
    )  # [H, kv_heads, P + N, hd]
    grouped = queries[:, rows.group].transpose(0, 1)  # [H, heads, M, hd]
    if torch.is_grad_enabled():
        found = _attend(grouped, keys, values, rows.seen[:, None])
    else:
        found = F.scaled_dot_product_attention(grouped, keys, values, rows.seen[:, None], enable_gqa=True)
    return found.transpose(1, 2).flatten(0, 1)[rows.place].flatten(1)


def attend_to_prefix(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Attend causally from queries [heads, P, hd] to keys and values [kv_heads, P, hd]. Returns [P, heads * hd]."""
    batched = queries[None], keys[None], values[None]
    found = F.scaled_dot_product_attention(*batched, is_causal=True, enable_gqa=True)
    return found[0].transpose(0, 1).flatten(1)


def _attend(queries: Tensor, keys: Tensor, values: Tensor, seen: Tensor) -> Tensor:
    """Compute scaled dot-product attention in plain operations: with gradients, the fused one takes twice as long."""
    holes, heads, most, size = queries.shape
    grouped = queries.reshape(holes, keys.shape[1], -1, size) * size**-0.5
    scores = (grouped @ keys.transpose(2, 3)).view(holes, heads, most, -1)
    hidden = torch.zeros(seen.shape, dtype=scores.dtype).masked_fill_(~seen, -torch.inf)
    weights = (scores + hidden).softmax(-1).view(*grouped.shape[:3], -1)
    found: Tensor = (weights @ values).view(queries.shape)
    return found
