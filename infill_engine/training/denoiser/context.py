"""Reads the contexts of texts, once for all their blocks, without gradients."""

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from infill_engine.models.trunk.network import KeysValues, Network, forward


@dataclass(frozen=True, slots=True)
class Context:
    """What blocks see of B texts of T tokens.

    `entered` [B, T, D] are the states before the layer at which mask rows enter, `keys_values` those of this layer and
    all above it, [B, kv_heads, T, head_dim] each.
    """

    entered: Tensor
    keys_values: list[KeysValues]


@torch.no_grad()
def read_context(network: Network, tokens: Tensor, first_layer: int, dtype: torch.dtype) -> Context:
    """Read tokens [B, T], padded at the end, and keep what mask rows from `first_layer` on need, in `dtype`."""
    count, length = tokens.shape
    kept: list[KeysValues] = []

    def attend(_layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        rows = [each.unflatten(1, (count, length)).transpose(0, 1) for each in (queries, keys, values)]
        kept.append((rows[1].to(dtype), rows[2].to(dtype)))
        found = F.scaled_dot_product_attention(rows[0], rows[1], rows[2], is_causal=True, enable_gqa=True)
        return found.transpose(1, 2).reshape(count * length, -1)

    positions = torch.arange(length, device=tokens.device).repeat(count)
    lower = replace(network, layers=network.layers[:first_layer])
    upper = replace(network, layers=network.layers[first_layer:])
    entered = forward(lower, network.embed(tokens.flatten()), positions, attend)
    kept.clear()
    forward(upper, entered, positions, attend)
    return Context(entered.unflatten(0, (count, length)).to(dtype), kept)
