"""The forward pass of a Qwen2 decoder over one flat axis of rows, with an explicit mask.

Every row is one token at one position. The caller's mask decides which rows see which, so the rows of a prompt, of
several candidates, of a tree of texts and of a canvas go through one pass together. The matrices are callables: int8
for serving, int8 with a trainable low-rank term for training, float32 in tests.

Source: Qwen2 (arXiv 2407.10671); RMSNorm before attention and MLP, RoPE, grouped queries, SwiGLU, tied embeddings.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812  (the conventional name)
from torch import Tensor

from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.merged import LayerOf

Product = Callable[[Tensor], Tensor]  # [T, in] -> [T, out], with the bias if there is one
Layer = LayerOf[Tensor, Product]
# Layer, the rows' rotated queries [heads, T, hd], their keys and values -> what they see, [T, heads * hd]
Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
UNSEEN = torch.finfo(torch.float32).min
EVERY_LAYER = slice(None)


@dataclass(frozen=True, slots=True)
class Network:
    """All layers, the norm after them, and the embedding, which is also the head."""

    config: TrunkConfig
    layers: Sequence[Layer]
    norm: Tensor  # [D]
    embed: Callable[[Tensor], Tensor]  # ids [T] -> [T, D]
    logits: Product  # normed states [T, D] -> [T, V]


def rotations(config: TrunkConfig, positions: Tensor) -> tuple[Tensor, Tensor]:
    """Return cosines and sines [T, head_dim] for rows at `positions` [T] (RoPE, arXiv 2104.09864)."""
    half = torch.arange(0, config.head_dim, 2, dtype=torch.float32, device=positions.device) / config.head_dim
    angles = positions.float()[:, None] * (1.0 / config.rope_theta**half)
    angles = torch.cat([angles, angles], -1)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate x [..., T, head_dim] by the angles of its rows."""
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


def forward(network: Network, x: Tensor, positions: Tensor, attend: Attend, layers: slice = EVERY_LAYER) -> Tensor:
    """Return states [T, D], not yet normed, of embedded rows x [T, D] at `positions` [T] after some layers.

    `attend` decides what a row sees; it is called for each layer.
    """
    cos, sin = (table.to(x.dtype) for table in rotations(network.config, positions))
    for number, layer in list(enumerate(network.layers))[layers]:
        x = x + layer.out(attend(number, *_project(network.config, layer, x, cos, sin)))
        x = x + _mlp(network.config, layer, x)
    return x


def attention(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """Return the attention of queries [heads, T, hd] to keys and values [kv_heads, S, hd] -> [T, heads * hd].

    `mask` [T, S] is added to the scores: 0 where a row sees a key, UNSEEN where it does not. Every row must see at
    least one key. The query heads that share a key head are rows of one matrix product, so that nothing is repeated.
    """
    heads, rows, size = queries.shape
    groups = keys.shape[0]
    scores = queries.reshape(groups, -1, size) @ keys.transpose(1, 2)  # [kv_heads, heads / kv_heads * T, S]
    scores = scores.view(heads, rows, -1) * size**-0.5 + mask
    weights = scores.softmax(-1).view(groups, -1, keys.shape[1])
    found: Tensor = (weights @ values).view(heads, rows, size).transpose(0, 1).reshape(rows, heads * size)
    return found


def normed(network: Network, states: Tensor) -> Tensor:
    """Return states [T, D] with the final norm applied, the head's input."""
    found: Tensor = F.rms_norm(states, (network.config.dim,), network.norm, network.config.norm_epsilon)
    return found


def _project(config: TrunkConfig, layer: Layer, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return rotated queries [heads, T, hd], rotated keys and values [kv_heads, T, hd] of rows x [T, D]."""
    rows = F.rms_norm(x, (config.dim,), layer.attention_norm, config.norm_epsilon)
    joined = layer.qkv(rows).view(len(x), config.heads + 2 * config.kv_heads, config.head_dim).transpose(0, 1)
    turned = rotate(joined[: config.heads + config.kv_heads], cos, sin)
    return turned[: config.heads], turned[config.heads :], joined[config.heads + config.kv_heads :]


def _mlp(config: TrunkConfig, layer: Layer, x: Tensor) -> Tensor:
    gate, up = layer.gate_up(F.rms_norm(x, (config.dim,), layer.mlp_norm, config.norm_epsilon)).chunk(2, -1)
    inside: Tensor = F.silu(gate) * up
    return layer.down(inside)
