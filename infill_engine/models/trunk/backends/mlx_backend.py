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
from infill_engine.models.trunk.backends.interface import LIKELIEST, Floats, Ints, Likely
from infill_engine.models.trunk.merged import MergedLayer, MergedWeights
from infill_engine.models.trunk.slots import SLOTS, Rows

BITS, GROUP = 8, 64
DTYPES = {torch.float32: mx.float32, torch.bfloat16: mx.bfloat16, torch.float16: mx.float16}
Buffer = list[tuple[mx.array, mx.array]]  # a layer's keys and values, [kv_heads, SLOTS, head_dim] each
Product = Callable[[mx.array], mx.array]


@dataclass(frozen=True, slots=True)
class MlxLayer:
    """One decoder layer; see `network.Layer`."""

    attention_norm: mx.array
    mlp_norm: mx.array
    qkv: Product
    out: Product
    gate_up: Product
    down: Product


class MlxBackend:
    """Implements `backend.Backend` on MLX's default device."""

    device = MLX

    def __init__(self, merged: MergedWeights, dtype: torch.dtype) -> None:
        weights, self.config = merged.weights, merged.config
        self.dtype = DTYPES[dtype]
        self.profile = "float32" if dtype == torch.float32 else f"{BITS} bits"
        self._layers = [self._layer(merged.layer(number)) for number in range(self.config.layers)]
        self._norm = self._array(weights.read_vector("norm"))
        codes, scales = weights.embedding()
        self._codes, self._scales = mx.array(codes), mx.array(scales)
        if not self.config.tied:
            codes, scales = weights.head()
        self._head = self._product(codes * scales[:, None], None)

    def new_buffer(self) -> Buffer:
        """See `Backend`."""
        shape = (self.config.kv_heads, SLOTS, self.config.head_dim)
        return [(mx.zeros(shape, self.dtype), mx.zeros(shape, self.dtype)) for _ in range(self.config.layers)]

    def run(self, buffer: Buffer, rows: Rows, first: int) -> Likely:
        """See `Backend`."""
        slots, used = mx.array(list(rows.slots)), rows.used
        mask = mx.array(rows.seen[:, used])
        cos, sin = self._rotations(mx.array(list(rows.positions)))
        x = self._embed(mx.array(list(rows.ids)))
        for number, layer in enumerate(self._layers):
            joined = layer.qkv(self._normed(x, layer.attention_norm))
            joined = joined.reshape(len(x), -1, self.config.head_dim).transpose(1, 0, 2)
            turned = _rotate(joined[: self.config.heads + self.config.kv_heads], cos, sin)
            keys, values = buffer[number]
            keys[:, slots] = turned[self.config.heads :]
            values[:, slots] = joined[self.config.heads + self.config.kv_heads :]
            buffer[number] = keys, values
            x = x + layer.out(self._attention(turned[: self.config.heads], keys[:, used], values[:, used], mask))
            gate, up = mx.split(layer.gate_up(self._normed(x, layer.mlp_norm)), 2, -1)
            x = x + layer.down(gate * mx.sigmoid(gate) * up)
        logits = self._head(self._normed(x[first:], self._norm)).astype(mx.float32)
        found = np.array(logits - mx.logsumexp(logits, -1, keepdims=True))
        mx.eval(buffer)
        return Likely(found, _likeliest(found))

    def copy(self, buffer: Buffer, slots: Sequence[int], to: int) -> None:
        """See `Backend`."""
        wanted = mx.array(list(slots))
        for number, (keys, values) in enumerate(buffer):
            keys[:, to : to + len(slots)] = keys[:, wanted]
            values[:, to : to + len(slots)] = values[:, wanted]
            buffer[number] = keys, values
        mx.eval(buffer)

    def copy_from(self, buffer: Buffer, other: Buffer, slots: slice) -> None:
        """See `Backend`."""
        for (keys, values), (other_keys, other_values) in zip(buffer, other, strict=True):
            keys[:, slots], values[:, slots] = other_keys[:, slots], other_values[:, slots]
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

    def _layer(self, read: MergedLayer) -> MlxLayer:
        return MlxLayer(
            self._array(read.attention_norm),
            self._array(read.mlp_norm),
            self._product(read.qkv, read.bias),
            self._product(read.out, None),
            self._product(read.gate_up, None),
            self._product(read.down, None),
        )

    def _product(self, matrix: Floats, bias: Floats | None) -> Product:
        weight = mx.array(matrix)
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

    def _array(self, vector: Floats) -> mx.array:
        return mx.array(vector).astype(self.dtype)


def _rotate(x: mx.array, cos: mx.array, sin: mx.array) -> mx.array:
    half = x.shape[-1] // 2
    return x * cos + mx.concatenate([-x[..., half:], x[..., :half]], -1) * sin


def _likeliest(logprobs: Floats) -> Ints:
    best = np.argpartition(logprobs, -LIKELIEST, -1)[:, -LIKELIEST:]
    order = np.argsort(-np.take_along_axis(logprobs, best, -1), -1, kind="stable")
    found: Ints = np.take_along_axis(best, order, -1)
    return found
