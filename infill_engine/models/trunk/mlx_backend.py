"""Computes the trunk with Apple's MLX: the same computation as `network`, from the same weights.

Matrices are stored in 8 bits, in groups, unless float32 is requested; norms and the operations between the matrices use
`dtype`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mlx.core as mx
import numpy as np
import torch

from infill_engine.models.runtime.devices import MLX
from infill_engine.models.trunk.adapter import NAMES, Adapter
from infill_engine.models.trunk.backend import LIKELIEST, Floats, Ints, Likely
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.denoiser import HEAD, Denoiser, MaskProposals
from infill_engine.models.trunk.files.weights import TrunkWeights
from infill_engine.models.trunk.slots import SLOTS, MaskRows, Rows

BITS, GROUP = 8, 64
DTYPES = {torch.float32: mx.float32, torch.bfloat16: mx.bfloat16, torch.float16: mx.float16}
Buffer = list[tuple[mx.array, mx.array]]  # a layer's keys and values, [kv_heads, SLOTS, head_dim] each
Product = Callable[[mx.array], mx.array]
Matrix = Callable[[str, int], torch.Tensor]  # a joined matrix of a layer, or its bias, in float32


@dataclass(frozen=True, slots=True)
class MlxLayer:
    """One decoder layer; see `network.Layer`."""

    attention_norm: mx.array
    mlp_norm: mx.array
    qkv: Product
    out: Product
    gate_up: Product
    down: Product
    terms: dict[str, tuple[mx.array, mx.array]]


class MlxBackend:
    """Implements `backend.Backend` on MLX's default device."""

    device = MLX

    def __init__(
        self, weights: TrunkWeights, adapter: Adapter, dtype: torch.dtype, denoiser: Denoiser | None = None
    ) -> None:
        self.config: TrunkConfig = weights.config
        self.dtype = DTYPES[dtype]
        self.profile = "float32" if dtype == torch.float32 else f"{BITS} bits"
        self.survival = () if denoiser is None else denoiser.survival
        if denoiser is not None:
            self._masks = self._array(denoiser.masks)
            self._choosing = {name: self._array(getattr(denoiser.head, name)) for name in HEAD}
        self._layers = [self._layer(weights, adapter, denoiser, number) for number in range(self.config.layers)]
        self._norm = self._array(weights.read_vector("norm"))
        codes, scales = weights.embedding()
        self._codes, self._scales = mx.array(codes.numpy()), mx.array(scales.numpy())
        self._head = self._product(codes.float() * scales[:, None], None)

    def new_buffer(self) -> Buffer:
        """See `Backend`."""
        shape = (self.config.kv_heads, SLOTS, self.config.head_dim)
        return [(mx.zeros(shape, self.dtype), mx.zeros(shape, self.dtype)) for _ in range(self.config.layers)]

    def run(self, buffer: Buffer, rows: Rows, first: int, masks: MaskRows | None = None) -> Likely:
        """See `Backend`."""
        slots, used, real = mx.array(list(rows.slots)), rows.used, len(rows)
        mask = mx.array(rows.seen[:, used])
        mask_of_masks = mx.array(np.concatenate([masks.seen[:, used], masks.block], 1)) if masks else None
        cos, sin = self._rotations(mx.array([*rows.positions, *(masks.positions if masks else ())]))
        x = self._embed(mx.array(list(rows.ids)))
        if masks:
            x = mx.concatenate([x, self._masks[mx.array(list(masks.places))]])
        for number, layer in enumerate(self._layers):
            joined = _product(layer, "qkv", self._normed(x, layer.attention_norm), real)
            joined = joined.reshape(len(x), -1, self.config.head_dim).transpose(1, 0, 2)
            turned = _rotate(joined[: self.config.heads + self.config.kv_heads], cos, sin)
            queries, own_keys = turned[: self.config.heads], turned[self.config.heads :]
            own_values = joined[self.config.heads + self.config.kv_heads :]
            keys, values = buffer[number]
            keys[:, slots] = own_keys[:, :real]
            values[:, slots] = own_values[:, :real]
            buffer[number] = keys, values
            seen = self._attention(queries[:, :real], keys[:, used], values[:, used], mask)
            if mask_of_masks is not None:
                known = mx.concatenate([keys[:, used], own_keys[:, real:]], 1)
                told = mx.concatenate([values[:, used], own_values[:, real:]], 1)
                seen = mx.concatenate([seen, self._attention(queries[:, real:], known, told, mask_of_masks)])
            x = x + _product(layer, "out", seen, real)
            gate, up = mx.split(_product(layer, "gate_up", self._normed(x, layer.mlp_norm), real), 2, -1)
            x = x + _product(layer, "down", gate * mx.sigmoid(gate) * up, real)
        states = self._normed(x[first:], self._norm)
        logits = self._head(states).astype(mx.float32)
        found = np.array(logits - mx.logsumexp(logits, -1, keepdims=True))
        mx.eval(buffer)
        likeliest, end = _likeliest(found), real - first
        proposals = self._proposals(masks, states[end:], found[end:], likeliest[end:]) if masks else None
        return Likely(found[:end], likeliest[:end], proposals)

    def copy(self, buffer: Buffer, slots: Sequence[int], to: int) -> None:
        """See `Backend`."""
        wanted = mx.array(list(slots))
        for number, (keys, values) in enumerate(buffer):
            keys[:, to : to + len(slots)] = keys[:, wanted]
            values[:, to : to + len(slots)] = values[:, wanted]
            buffer[number] = keys, values
        mx.eval(buffer)

    def rotate(self, buffer: Buffer, slots: slice, by: int) -> None:
        """See `Backend`."""
        cos, sin = self._rotations(mx.array([by]))
        for number, (keys, values) in enumerate(buffer):
            keys[:, slots] = _rotate(keys[:, slots], cos, sin)
            buffer[number] = keys, values
        mx.eval(buffer)

    def _attention(self, queries: mx.array, keys: mx.array, values: mx.array, mask: mx.array) -> mx.array:
        """Attention [T, heads * hd] of queries [heads, T, hd] to keys and values [kv_heads, S, hd] at `mask` [T, S]."""
        seen = mx.fast.scaled_dot_product_attention(
            queries[None], keys[None], values[None], scale=self.config.head_dim**-0.5, mask=mask
        )
        return seen[0].transpose(1, 0, 2).reshape(queries.shape[1], -1)

    def _embed(self, ids: mx.array) -> mx.array:
        return (self._codes[ids].astype(mx.float32) * self._scales[ids][:, None]).astype(self.dtype)

    def _proposals(self, masks: MaskRows, states: mx.array, logprobs: Floats, tokens: Ints) -> MaskProposals:
        """Proposals of mask rows with normed states [M, D], log-probabilities [M, V] and likeliest tokens [M, K]."""

        def by_token(token: int) -> Floats:
            return _floats((_unit(self._embed(mx.array([token]))) @ self._choosing["from_token"].T)[0])

        moves = self._embed(mx.array(tokens.reshape(-1))) @ self._choosing["to_state"]
        return MaskProposals(
            masks.anchors,
            masks.places,
            tokens,
            np.take_along_axis(logprobs, tokens, -1),
            _floats(_unit(states) @ self._choosing["from_state"].T),
            _floats(moves).reshape(*tokens.shape, -1),
            by_token,
        )

    def _layer(self, weights: TrunkWeights, adapter: Adapter, denoiser: Denoiser | None, number: int) -> MlxLayer:
        def product(name: str, *parts: str) -> Product:
            matrix = torch.cat([weights.read_matrix(number, part) for part in parts])
            biases = [weights.read_vector(f"layers.{number}.{part}.bias") for part in parts] if name == "qkv" else []
            return self._product(
                adapter.merged(f"layers.{number}.{name}", matrix), torch.cat(biases) if biases else None
            )

        return MlxLayer(
            self._array(weights.read_vector(f"layers.{number}.attention_norm")),
            self._array(weights.read_vector(f"layers.{number}.mlp_norm")),
            product("qkv", "q", "k", "v"),
            product("out", "o"),
            product("gate_up", "gate", "up"),
            product("down", "down"),
            self._terms(denoiser, number),
        )

    def _terms(self, denoiser: Denoiser | None, number: int) -> dict[str, tuple[mx.array, mx.array]]:
        if denoiser is None:
            return {}
        pairs = {name: denoiser.terms[f"layers.{number}.{name}"] for name in NAMES}
        return {name: (self._array(up), self._array(down)) for name, (up, down) in pairs.items()}

    def _product(self, matrix: torch.Tensor, bias: torch.Tensor | None) -> Product:
        weight = mx.array(matrix.numpy())
        added = None if bias is None else self._array(bias)
        if self.dtype == mx.float32 or weight.shape[1] % GROUP:
            kept = weight.astype(self.dtype)
            mx.eval(kept)
            return lambda x: x @ kept.T if added is None else x @ kept.T + added
        packed = mx.quantize(weight.astype(self.dtype), group_size=GROUP, bits=BITS)
        mx.eval(*packed)

        def multiply(x: mx.array) -> mx.array:
            found = mx.quantized_matmul(x, *packed, transpose=True, group_size=GROUP, bits=BITS)
            return found if added is None else found + added

        return multiply

    def _rotations(self, positions: mx.array) -> tuple[mx.array, mx.array]:
        half = mx.arange(0, self.config.head_dim, 2).astype(mx.float32) / self.config.head_dim
        angles = positions.astype(mx.float32)[:, None] * (1.0 / self.config.rope_theta**half)
        angles = mx.concatenate([angles, angles], -1)
        return mx.cos(angles).astype(self.dtype), mx.sin(angles).astype(self.dtype)

    def _normed(self, x: mx.array, weight: mx.array) -> mx.array:
        return mx.fast.rms_norm(x, weight, self.config.norm_epsilon)

    def _array(self, vector: torch.Tensor) -> mx.array:
        return mx.array(vector.numpy()).astype(self.dtype)


def _rotate(x: mx.array, cos: mx.array, sin: mx.array) -> mx.array:
    half = x.shape[-1] // 2
    return x * cos + mx.concatenate([-x[..., half:], x[..., :half]], -1) * sin


def _product(layer: MlxLayer, name: str, x: mx.array, real: int) -> mx.array:
    """A layer's product of rows; the rows after the first `real` are mask rows."""
    product: Product = getattr(layer, name)
    found = product(x)
    if real == len(x):
        return found
    up, down = layer.terms[name]
    return mx.concatenate([found[:real], found[real:] + x[real:] @ down.T @ up.T])


def _likeliest(logprobs: Floats) -> Ints:
    best = np.argpartition(logprobs, -LIKELIEST, -1)[:, -LIKELIEST:]
    order = np.argsort(-np.take_along_axis(logprobs, best, -1), -1, kind="stable")
    found: Ints = np.take_along_axis(best, order, -1)
    return found


def _unit(x: mx.array) -> mx.array:
    return mx.fast.rms_norm(x, None, 1e-6)


def _floats(x: mx.array) -> Floats:
    found: Floats = np.array(x.astype(mx.float32))
    return found
