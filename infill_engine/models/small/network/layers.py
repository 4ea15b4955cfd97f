"""The layers of the small model's network, for training and, after `join`, for serving."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from infill_engine.models.quantization.int8_linear import Int8Linear
from infill_engine.models.small.network.attention import Looked, attend
from infill_engine.models.small.network.config import DualEncoderConfig

MAX_POSITIONS = 2048
ROPE_BASE = 10_000.0

KeysValues = tuple[Tensor, Tensor]  # [B, H, T, hd] each, keys already rotated
Tables = tuple[Tensor, Tensor]  # cosines and sines of positions, ready to broadcast over [B, H, T, hd]


class Rotary(nn.Module):
    """Rotary position embedding (RoPE, arXiv 2104.09864) by table lookup."""

    cos: Tensor
    sin: Tensor

    def __init__(self, head_dim: int) -> None:
        super().__init__()
        frequencies = ROPE_BASE ** (-torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim)
        angles = torch.arange(MAX_POSITIONS, dtype=torch.float32)[:, None] * frequencies
        self.register_buffer("cos", torch.cat([angles.cos(), angles.cos()], -1), persistent=False)
        self.register_buffer("sin", torch.cat([-angles.sin(), angles.sin()], -1), persistent=False)

    def forward(self, positions: Tensor) -> Tables:
        """Return the tables of `positions`, [T] or [B, T]."""
        return self.cos[positions].unsqueeze(-3), self.sin[positions].unsqueeze(-3)


def rotate(x: Tensor, tables: Tables) -> Tensor:
    """Rotate x [B, H, T, hd]. The two halves of a head's dimensions form the planes."""
    cos, sin = tables
    return x * cos.to(x.dtype) + x.roll(x.shape[-1] // 2, -1) * sin.to(x.dtype)


class Joined:
    """Linear maps of one input, by name. Once joined, one product serves all: single tokens cost mostly overhead."""

    def __init__(self, owner: nn.Module, *names: str) -> None:
        self._owner, self._names = owner, names
        self.product: Callable[[Tensor], Tensor] | None = None  # once joined: all outputs side by side
        self._sizes: list[int] = []

    def __call__(self, x: Tensor) -> Sequence[Tensor]:
        """x [..., D] -> one output [..., D_i] for each linear map."""
        if self.product is None:
            return [linear(x) for linear in self._linears()]
        parts: Sequence[Tensor] = self.product(x).split(self._sizes, -1)
        return parts

    def join(self) -> None:
        """Join the maps for serving, once weights have their final type and device. The separate maps are removed."""
        linears = self._linears()
        self._sizes = [linear.out_features for linear in linears]
        rounded = [linear for linear in linears if isinstance(linear, Int8Linear)]
        if rounded:
            self.product = Int8Linear.joined(rounded)
        else:
            self.product = partial(F.linear, weight=torch.cat([linear.weight.detach() for linear in linears]))
        for name in self._names:
            delattr(self._owner, name)

    def _linears(self) -> list[nn.Linear | Int8Linear]:
        return [getattr(self._owner, name) for name in self._names]


class FeedForward(nn.Module):
    """SwiGLU feed-forward (arXiv 2002.05202) with pre-norm and residual."""

    def __init__(self, config: DualEncoderConfig) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(config.dim)
        self.gate = nn.Linear(config.dim, config.hidden, bias=False)
        self.up = nn.Linear(config.dim, config.hidden, bias=False)
        self.down = nn.Linear(config.hidden, config.dim, bias=False)
        self.joined = Joined(self, "gate", "up")

    def forward(self, x: Tensor) -> Tensor:
        normed = self.norm(x)
        gate, up = self.joined(normed)
        added: Tensor = self.down(F.silu(gate) * up)
        return x + added


class Projection(nn.Module):
    """Query, key and value projections, split into heads, with queries and keys normed (arXiv 2010.04245)."""

    def __init__(self, config: DualEncoderConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.norm = nn.RMSNorm(config.dim)
        self.query = nn.Linear(config.dim, config.dim, bias=False)
        self.key = nn.Linear(config.dim, config.dim, bias=False)
        self.value = nn.Linear(config.dim, config.dim, bias=False)
        self.joined = Joined(self, "query", "key", "value")
        self.query_norm = nn.RMSNorm(config.head_dim)
        self.key_norm = nn.RMSNorm(config.head_dim)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Map x [B, T, D] to query, key and value [B, H, T, hd], not yet rotated."""
        query, key, value = (split_heads(part, self.heads) for part in self.joined(self.norm(x)))
        return self.query_norm(query), self.key_norm(key), value


class EncoderLayer(nn.Module):
    """One layer of a context stream. Both directions use the same causal attention; the suffix is reversed."""

    def __init__(self, config: DualEncoderConfig) -> None:
        super().__init__()
        self.projection = Projection(config)
        self.output = nn.Linear(config.dim, config.dim, bias=False)
        self.feed_forward = FeedForward(config)

    def forward(
        self, x: Tensor, tables: Tables, past: KeysValues | None = None, visible: Tensor | None = None
    ) -> tuple[Tensor, KeysValues]:
        """Run x [B, T, D] after `past` [B, H, P, hd]. Returns x and the keys and values of all P+T positions.

        `visible` [B, 1, T, P+T] is the attention mask if it is not simply causal.
        """
        query, key, value = self.projection(x)
        query, key = rotate(query, tables), rotate(key, tables)
        if past is not None:
            key, value = torch.cat([past[0], key], 2), torch.cat([past[1], value], 2)
        mask = causal_mask(query, key) if visible is None else visible
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=past is None)
        return self.feed_forward(x + self.output(merge_heads(attended))), (key, value)


class ContextKV(nn.Module):
    """The keys and values that one decoder layer reads of a context stream, computed from the stream's final states."""

    def __init__(self, config: DualEncoderConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.key = nn.Linear(config.dim, config.dim, bias=False)
        self.value = nn.Linear(config.dim, config.dim, bias=False)
        self.joined = Joined(self, "key", "value")
        self.key_norm = nn.RMSNorm(config.head_dim)

    def forward(self, states: Tensor, tables: Tables) -> KeysValues:
        """Map states [B, T, D] to rotated keys and values [B, H, T, hd]."""
        key, value = (split_heads(part, self.heads) for part in self.joined(states))
        return rotate(self.key_norm(key), tables), value


@dataclass(frozen=True, slots=True)
class Frames:
    """The positions of the slots in the canvas, in the prefix stream's frame and in the suffix stream's frame."""

    canvas: Tables
    prefix: Tables
    suffix: Tables


@dataclass(frozen=True, slots=True)
class Visible:
    """Additive masks: 0 where a slot may attend, a large negative number elsewhere; None if it may attend everywhere.

    prefix [B, 1, M, P], suffix [B, 1, M, S], canvas [B, 1, M, M].
    """

    prefix: Tensor | None = None
    suffix: Tensor | None = None
    canvas: Tensor | None = None


class DecoderLayer(nn.Module):
    """One layer of the canvas decoder: a single softmax over prefix, canvas and suffix keys, then a feed-forward."""

    def __init__(self, config: DualEncoderConfig) -> None:
        super().__init__()
        self.projection = Projection(config)
        self.context = ContextKV(config)
        self.output = nn.Linear(config.dim, config.dim, bias=False)
        self.feed_forward = FeedForward(config)

    def forward(
        self,
        x: Tensor,
        frames: Frames,
        prefix: KeysValues,
        suffix: KeysValues,
        visible: Visible,
    ) -> Tensor:
        """Map x [B, M, D], with `prefix` and `suffix` keys and values [B or 1, H, P or S, hd], to [B, M, D]."""
        query, key, value = self.projection(x)
        attended = attend(
            [
                Looked(rotate(query, frames.prefix), *prefix, visible.prefix),
                Looked(rotate(query, frames.canvas), rotate(key, frames.canvas), value, visible.canvas),
                Looked(rotate(query, frames.suffix), *suffix, visible.suffix),
            ]
        )
        fed: Tensor = self.feed_forward(x + self.output(merge_heads(attended)))
        return fed


def split_heads(x: Tensor, heads: int) -> Tensor:
    """[B, T, D] -> [B, H, T, hd]"""
    return x.view(*x.shape[:-1], heads, -1).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """[B, H, T, hd] -> [B, T, D]"""
    return x.transpose(1, 2).flatten(2)


def causal_mask(query: Tensor, key: Tensor) -> Tensor | None:
    """Return the mask [T, P+T] for T new positions after P cached ones; None if `is_causal` covers it or T is 1."""
    new, total = query.shape[2], key.shape[2]
    if new == total or new == 1:
        return None
    return torch.ones(new, total, dtype=torch.bool, device=query.device).tril(total - new)
