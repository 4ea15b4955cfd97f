"""Attention for the rows of many holes that share a prefix and otherwise see only their own hole.

A single mask over all rows and keys would be three quarters empty and cost as much as a full one.
"""

import torch
from torch import Tensor

from infill_engine.models.trunk.network import KeysValues
from infill_engine.training.trunk.data import Pass


def attend_in_groups(queries: Tensor, prefix: KeysValues, own: KeysValues, rows: Pass) -> Tensor:
    """Attend from rows with `queries` [heads, T, hd] to the prefix [kv_heads, P, hd] and to own keys.

    `own` are the keys and values [kv_heads, K, hd] that `rows.keys` indexes. Returns [T, heads * hd].
    """
    heads, count, size = queries.shape
    groups, share = own[0].shape[0], heads // own[0].shape[0]
    holes, most = rows.group.shape
    queries = queries.view(groups, share, count, size) * size**-0.5
    to_prefix = queries.reshape(groups, -1, size) @ prefix[0].transpose(1, 2)
    to_prefix = to_prefix.view(groups, share, count, -1) + rows.shared
    keys, values = own[0][:, rows.keys], own[1][:, rows.keys]  # [kv_heads, H, N, hd]
    grouped = queries[:, :, rows.group].transpose(1, 2).reshape(groups, holes, share * most, size)
    to_own = (grouped @ keys.transpose(-1, -2)).view(groups, holes, share, most, -1) + rows.own[:, None]
    to_own = to_own.transpose(1, 2).reshape(groups, share, holes * most, -1)[:, :, rows.place]
    weights = torch.cat([to_prefix, to_own], -1).softmax(-1)
    on_prefix, on_own = weights.split([to_prefix.shape[-1], to_own.shape[-1]], -1)
    found: Tensor = (on_prefix.reshape(groups, share * count, -1) @ prefix[1]).view(groups, share, count, size)
    on_own = on_own[:, :, rows.group].transpose(1, 2).reshape(groups, holes, share * most, -1)
    seen = (on_own @ values).view(groups, holes, share, most, size).transpose(1, 2)
    found = found + seen.reshape(groups, share, holes * most, size)[:, :, rows.place]
    joined: Tensor = found.reshape(heads, count, size).transpose(0, 1).reshape(count, heads * size)
    return joined
