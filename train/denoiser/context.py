"""Reads the context of a text once for all its blocks, without gradients, and keeps it for the next time.

A context of the upper eight layers takes 6 KB a token and is read from disk in no time; reading its text again costs as
much as learning from 300 slots. `train.denoiser.write` reads its texts anyway, and can keep their contexts.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812
from safetensors.torch import load_file, save_file
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


def context_path(folder: Path, name: str, first_layer: int) -> Path:
    """Return the path of the context that is kept for the text `name`."""
    return folder / f"{name}.{first_layer}.safetensors"


def save_context(path: Path, context: Context) -> None:
    """Write the context of a single text as a whole."""
    keys, values = (torch.stack(each) for each in zip(*context.keys_values, strict=True))
    unfinished = path.with_suffix(".part")
    save_file({"entered": context.entered.contiguous(), "keys": keys, "values": values}, unfinished)
    unfinished.replace(path)


def load_context(path: Path) -> Context:
    """Return a context that was kept."""
    stored = load_file(path)
    return Context(stored["entered"], list(zip(stored["keys"], stored["values"], strict=True)))
