"""Computes the trunk through Apple's MLX: what `network` computes, from the same weights.

Matrices are kept in 8 bits, in groups, except where float32 is asked for; norms and what lies between the matrices are
in `dtype`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import mlx.core as mx
import numpy as np
import torch

from infill_engine.models.runtime.devices import MLX
from infill_engine.models.trunk.adapter import Adapter
from infill_engine.models.trunk.backend import LIKELIEST, Likely
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.files.weights import TrunkWeights
from infill_engine.models.trunk.slots import SLOTS, Rows

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


class MlxBackend:
    """Implements `backend.Backend` on MLX's default device."""

    device = MLX

    def __init__(self, weights: TrunkWeights, adapter: Adapter, dtype: torch.dtype) -> None:
        self.config: TrunkConfig = weights.config
        self.dtype = DTYPES[dtype]
        self.profile = "float32" if dtype == torch.float32 else f"{BITS} bits"
        self._layers = [self._layer(weights, adapter, number) for number in range(self.config.layers)]
        self._norm = self._array(weights.read_vector("norm"))
        codes, scales = weights.embedding()
        self._codes, self._scales = mx.array(codes.numpy()), mx.array(scales.numpy())
        self._head = self._product(codes.float() * scales[:, None], None)

    def new_buffer(self) -> Buffer:
        """See `Backend`."""
        shape = (self.config.kv_heads, SLOTS, self.config.head_dim)
        return [(mx.zeros(shape, self.dtype), mx.zeros(shape, self.dtype)) for _ in range(self.config.layers)]

    def run(self, buffer: Buffer, rows: Rows, first: int) -> Likely:
        """See `Backend`."""
        ids, slots, used = mx.array(list(rows.ids)), mx.array(list(rows.slots)), rows.used
        mask = mx.array(rows.seen[:, used])
        cos, sin = self._rotations(mx.array(list(rows.positions)))
        x = (self._codes[ids].astype(mx.float32) * self._scales[ids][:, None]).astype(self.dtype)
        for number, layer in enumerate(self._layers):
            joined = layer.qkv(self._normed(x, layer.attention_norm))
            joined = joined.reshape(len(rows), -1, self.config.head_dim).transpose(1, 0, 2)
            turned = _rotate(joined[: self.config.heads + self.config.kv_heads], cos, sin)
            keys, values = buffer[number]
            keys[:, slots] = turned[self.config.heads :]
            values[:, slots] = joined[self.config.heads + self.config.kv_heads :]
            buffer[number] = keys, values
            seen = mx.fast.scaled_dot_product_attention(
                turned[None, : self.config.heads],
                keys[None, :, used],
                values[None, :, used],
                scale=self.config.head_dim**-0.5,
                mask=mask,
            )
            x = x + layer.out(seen[0].transpose(1, 0, 2).reshape(len(rows), -1))
            gate, up = mx.split(layer.gate_up(self._normed(x, layer.mlp_norm)), 2, -1)
            x = x + layer.down(gate * mx.sigmoid(gate) * up)
        logits = self._head(self._normed(x[first:], self._norm)).astype(mx.float32)
        logprobs = logits - mx.logsumexp(logits, -1, keepdims=True)
        found = np.array(logprobs)
        mx.eval(buffer)
        best = np.argpartition(found, -LIKELIEST, -1)[:, -LIKELIEST:]
        order = np.argsort(-np.take_along_axis(found, best, -1), -1, kind="stable")
        return Likely(found, np.take_along_axis(best, order, -1))

    def rotate(self, buffer: Buffer, slots: slice, by: int) -> None:
        """See `Backend`."""
        cos, sin = self._rotations(mx.array([by]))
        for number, (keys, values) in enumerate(buffer):
            keys[:, slots] = _rotate(keys[:, slots], cos, sin)
            buffer[number] = keys, values
        mx.eval(buffer)

    def _layer(self, weights: TrunkWeights, adapter: Adapter, number: int) -> MlxLayer:
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
        )

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
