"""The forward pass of mask rows: attention with matrices of their own, and the frozen MLP.

A block's rows see the context up to their anchor and each other. Rows of different blocks never meet, so the scores
are two products: with the context, which all blocks of a text share, and within each block.
"""

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from infill_engine.models.trunk.network import rotate, rotations
from train.denoiser.context import Context
from train.denoiser.frozen import FrozenLayer, FrozenTrunk
from train.denoiser.weights import Shape


def block_states(
    trunk: FrozenTrunk, shape: Shape, weights: Mapping[str, Tensor], context: Context, anchors: Tensor
) -> Tensor:
    """Return the normed states [B, A, C, D] of the mask rows after `anchors` [B, A].

    `weights` have the names of `new_weights`, in the trunk's type. Each text of the context has its own anchors.
    """
    config, (count, most) = trunk.config, anchors.shape
    x = weights["mask"].expand(count, most, -1, -1)
    if shape.first_layer:
        entered = context.entered.gather(1, anchors[..., None].expand(-1, -1, config.dim))
        norm = trunk.layers[shape.first_layer].attention_norm
        known = F.rms_norm(entered, (config.dim,), norm, config.norm_epsilon)
        x = x + entered[:, :, None] + F.linear(known, weights["entry"].flatten(0, 1)).unflatten(-1, (shape.slots, -1))
    x = x.reshape(-1, config.dim)
    positions = anchors[..., None] + 1 + torch.arange(shape.slots, device=anchors.device)
    turn = tuple(table.to(x.dtype) for table in rotations(config, positions.flatten()))
    length = context.entered.shape[1]
    unseen = torch.arange(length, device=anchors.device) > anchors[..., None]  # [B, A, T]
    hidden = torch.zeros(unseen.shape, dtype=x.dtype, device=x.device).masked_fill_(unseen, -torch.inf)
    for number in range(shape.first_layer, config.layers):
        layer, keys_values = trunk.layers[number], context.keys_values[number - shape.first_layer]
        name = f"layers.{number}"
        rows = F.rms_norm(x, (config.dim,), layer.attention_norm, config.norm_epsilon)
        joined = F.linear(rows, weights[f"{name}.qkv.weight"], weights[f"{name}.qkv.bias"])
        found = _attend(joined.unflatten(-1, (-1, config.head_dim)), keys_values, hidden, turn, shape.slots)
        x = x + F.linear(found, weights[f"{name}.out.weight"])
        x = x + frozen_mlp(layer, F.rms_norm(x, (config.dim,), layer.mlp_norm, config.norm_epsilon))
    states = F.rms_norm(x, (config.dim,), trunk.norm, config.norm_epsilon)
    return states.view(count, most, shape.slots, config.dim)


def _attend(
    joined: Tensor, keys_values: tuple[Tensor, Tensor], hidden: Tensor, turn: tuple[Tensor, ...], slots: int
) -> Tensor:
    """Attention of rows with `joined` queries, keys and values [N, heads + 2 * kv_heads, hd]. Returns [N, heads * hd].

    `keys_values` are those of the context; `hidden` [B, A, T] is added to the scores of its keys.
    """
    keys, values = keys_values
    groups, size = keys.shape[1], joined.shape[-1]
    count, most, length = hidden.shape
    turned = rotate(joined[:, :-groups].transpose(0, 1), *turn).transpose(0, 1)
    heads = turned.shape[1] - groups
    # [B, kv_heads, heads / kv_heads, A, C, hd]: the query heads of a key head are rows of one product.
    queries = turned[:, :heads].reshape(count, most, slots, groups, -1, size).permute(0, 3, 4, 1, 2, 5) * size**-0.5
    own_keys = turned[:, heads:].reshape(count, most, slots, groups, size).permute(0, 3, 1, 2, 4)
    own_values = joined[:, -groups:].reshape(count, most, slots, groups, size).permute(0, 3, 1, 2, 4)
    flat = queries.reshape(count, groups, -1, size)
    context_scores = (flat @ keys.transpose(2, 3)).view(*queries.shape[:-1], length) + hidden[:, None, None, :, None]
    own = queries @ own_keys[:, :, None].transpose(-1, -2)
    weights = torch.cat([context_scores, own], -1).softmax(-1)
    found = (weights[..., :length].reshape(count, groups, -1, length) @ values).view(queries.shape)
    found = found + weights[..., length:] @ own_values[:, :, None]
    return found.permute(0, 3, 4, 1, 2, 5).reshape(-1, heads * size)


def frozen_mlp(layer: FrozenLayer, rows: Tensor) -> Tensor:
    """Return the MLP of rows [T, D], without gradients of its matrices."""
    found: Tensor = _FrozenMlp.apply(rows, layer.gate_up, layer.down)  # type: ignore[no-untyped-call]
    return found


class _FrozenMlp(torch.autograd.Function):
    """SwiGLU with frozen matrices: the backward pass keeps one tensor and computes no gradient of a weight."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, gate_up: Tensor, down: Tensor) -> Tensor:
        both = F.linear(rows, gate_up)
        gate, up = both.chunk(2, -1)
        ctx.save_for_backward(both)
        ctx.matrices = gate_up, down
        return F.linear(F.silu(gate).mul_(up), down)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (both,) = ctx.saved_tensors
        gate_up, down = ctx.matrices
        gate, up = both.chunk(2, -1)
        inside = gradients[0] @ down
        share = torch.sigmoid(gate)
        active = gate * share  # silu; its derivative is share + active * (1 - share)
        learned = torch.empty_like(both)
        torch.mul(inside, active, out=learned[..., up.shape[-1] :])
        slope = share.addcmul_(active, 1 - share)
        torch.mul(inside.mul_(up), slope, out=learned[..., : up.shape[-1]])
        return learned @ gate_up, None, None
