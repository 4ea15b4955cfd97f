"""The frozen trunk after a soft prompt: P rows for which only keys and values exist, in every layer."""

from collections.abc import Mapping

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from infill_engine.models.trunk.network import rotate, rotations
from train.denoiser.blocks import frozen_mlp
from train.denoiser.frozen import FrozenTrunk
from train.next_edits.layout import Laid

KEYS, VALUES = "keys", "values"  # [L, kv_heads, P, hd] each; keys are rotated to positions 0 to P - 1


def new_soft_prompt(trunk: FrozenTrunk, tokens: Tensor) -> dict[str, Tensor]:
    """Return the keys and values of some tokens [P], with which training begins."""
    kept: list[tuple[Tensor, Tensor]] = []
    laid_seen = torch.ones(len(tokens), len(tokens), dtype=torch.bool).tril()
    with torch.no_grad():
        _run(trunk, None, tokens, torch.arange(len(tokens)), laid_seen, kept)
    keys, values = (torch.stack(each).float() for each in zip(*kept, strict=True))
    return {KEYS: keys, VALUES: values}


def states_of(trunk: FrozenTrunk, prompt: Mapping[str, Tensor], laid: Laid) -> Tensor:
    """Return the normed states [T, D] of the rows after a soft prompt, in the trunk's type."""
    return _run(trunk, prompt, laid.ids, laid.positions + prompt[KEYS].shape[2], laid.seen, [])


def _run(
    trunk: FrozenTrunk,
    prompt: Mapping[str, Tensor] | None,
    ids: Tensor,
    positions: Tensor,
    seen: Tensor,
    kept: list[tuple[Tensor, Tensor]],
) -> Tensor:
    config, dtype = trunk.config, trunk.norm.dtype
    x = trunk.embedding[ids]
    cos, sin = (table.to(dtype) for table in rotations(config, positions))
    before = 0 if prompt is None else prompt[KEYS].shape[2]
    hidden = torch.zeros(len(ids), before + len(ids), dtype=dtype)
    hidden[:, before:].masked_fill_(~seen, -torch.inf)
    for number, layer in enumerate(trunk.layers):
        rows = F.rms_norm(x, (config.dim,), layer.attention_norm, config.norm_epsilon)
        joined = F.linear(rows, layer.qkv, layer.bias).view(len(ids), -1, config.head_dim).transpose(0, 1)
        turned = rotate(joined[: config.heads + config.kv_heads], cos, sin)
        keys, values = turned[config.heads :], joined[config.heads + config.kv_heads :]
        kept.append((keys, values))
        if prompt is not None:
            keys = torch.cat([prompt[KEYS][number].to(dtype), keys], 1)
            values = torch.cat([prompt[VALUES][number].to(dtype), values], 1)
        x = x + F.linear(_attend(turned[: config.heads], keys, values, hidden), layer.out)
        x = x + frozen_mlp(layer, F.rms_norm(x, (config.dim,), layer.mlp_norm, config.norm_epsilon))
    return F.rms_norm(x, (config.dim,), trunk.norm, config.norm_epsilon)


def _attend(queries: Tensor, keys: Tensor, values: Tensor, hidden: Tensor) -> Tensor:
    """Attention of queries [heads, T, hd] to keys and values [kv_heads, S, hd]. Returns [T, heads * hd]."""
    heads, rows, size = queries.shape
    scores = (queries.reshape(len(keys), -1, size) * size**-0.5) @ keys.transpose(1, 2)
    weights = (scores.view(heads, rows, -1) + hidden).softmax(-1).view(len(keys), -1, keys.shape[1])
    found: Tensor = (weights @ values).view(heads, rows, size).transpose(0, 1).reshape(rows, heads * size)
    return found
