"""Computes the trunk with Apple's MLX: the same computation as `network`, from the same weights.

Matrices are stored in 8 bits, in groups, unless float32 is requested; norms and the operations between the matrices use
`dtype`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from infill_engine.models.runtime.devices import MLX, on_apple_silicon
from infill_engine.models.trunk.backends.interface import PassResult, likeliest, rotations
from infill_engine.models.trunk.denoiser import Denoised, Denoiser, Floats, Ints
from infill_engine.models.trunk.edit_adapter import EditAdapter
from infill_engine.models.trunk.forms import PassForm
from infill_engine.models.trunk.merged import LayerOf, MergedLayer, MergedWeights
from infill_engine.models.trunk.slots import SLOTS, Rows
from infill_engine.models.trunk.soft_prompt import SoftPrompt

BITS, GROUP = 8, 64
Buffer = list[tuple[mx.array, mx.array]]  # a layer's keys and values, [kv_heads, SLOTS, head_dim] each
Product = Callable[[mx.array], mx.array]
MlxLayer = LayerOf[mx.array, Product]
Turn = tuple[mx.array, mx.array]  # cosines and sines
See = Callable[[int, mx.array, mx.array, mx.array], mx.array]  # layer, queries, keys, values -> what the rows see


class MlxBackend:
    """Implements `interface.Backend` on MLX's default device."""

    device = MLX
    forms: tuple[PassForm, ...] = ()  # see `Backend`

    def __init__(
        self,
        merged: MergedWeights,
        dtype: str = "",
        denoiser: Denoiser | None = None,
        edit_adapter: EditAdapter | None = None,
    ) -> None:
        """Load weights without smoothing, in the floating-point type with this name; "" takes the fastest one.

        On Apple Silicon that is float16: this model does not overflow in it, and some of the processors have no
        bfloat16.
        """
        weights, self.config, self.denoiser = merged.weights, merged.config, denoiser
        self.dtype = getattr(mx, dtype or ("float16" if on_apple_silicon() else "float32"))
        self.profile = "float32" if self.dtype == mx.float32 else f"{BITS} bits"
        self.adapts = edit_adapter is not None
        self._layers, self._adapted = list[MlxLayer](), list[MlxLayer]()
        for number in range(self.config.layers):
            read = merged.layer(number)
            self._layers.append(MlxLayer.of(read, self._array, self._product))
            if edit_adapter is not None:
                self._adapted.append(self._with_terms(self._layers[-1], edit_adapter, number, read))
        self._norm = self._array(weights.read_vector("norm"))
        codes, scales = weights.embedding()
        self._codes, self._scales = mx.array(codes), mx.array(scales)
        if not self.config.tied:
            codes, scales = weights.head()
        self._head = self._product(codes * scales[:, None], None)
        if denoiser is not None:
            self._read_denoiser(denoiser, codes, scales)

    def new_buffer(self) -> Buffer:
        """See `Backend`."""
        shape = (self.config.kv_heads, SLOTS, self.config.head_dim)
        return [(mx.zeros(shape, self.dtype), mx.zeros(shape, self.dtype)) for _ in range(self.config.layers)]

    def run(self, buffer: Buffer, rows: Rows, first: int) -> PassResult:
        """See `Backend`."""
        slots, used = mx.array(list(rows.slots)), rows.used
        mask = mx.array(rows.seen[:, used])
        entered = x = self._embed(mx.array(list(rows.ids)))

        def see(number: int, queries: mx.array, keys: mx.array, values: mx.array) -> mx.array:
            kept_keys, kept_values = buffer[number]
            kept_keys[:, slots], kept_values[:, slots] = keys, values
            buffer[number] = kept_keys, kept_values
            return self._attention(queries, kept_keys[:, used], kept_values[:, used], mask)

        turn = self._rotations(np.array(rows.positions))
        for number, layer in enumerate(self._adapted if rows.adapted else self._layers):
            if self.denoiser is not None and number == self.denoiser.first_layer:
                entered = x
            x = self._forward(number, layer, x, turn, see)
        found = _logprobs(self._head(self._normed(x[first:], self._norm)))
        denoised = self._denoise(self.denoiser, entered, buffer, rows) if self.denoiser and rows.blocks else None
        mx.eval(buffer)
        return PassResult(found, likeliest(found), denoised)

    def _denoise(self, denoiser: Denoiser, entered: mx.array, buffer: Buffer, rows: Rows) -> Denoised:
        """Return what mask rows propose. `entered` [T, D] are the states of the rows where mask rows join."""
        blocks, used = rows.blocks, rows.used
        slots = mx.array(blocks.slots)
        anchor = entered[mx.array(blocks.behind)]
        known = self._entry(self._normed(anchor, self._masked[0].attention_norm))
        known = known.reshape(len(blocks), -1, self.config.dim)[mx.arange(len(blocks)), slots]
        x = anchor + known + self._mask[slots]
        mask = mx.array(rows.seen_by_masks)

        def see(number: int, queries: mx.array, keys: mx.array, values: mx.array) -> mx.array:
            kept_keys, kept_values = buffer[number]
            seen_keys = mx.concatenate([kept_keys[:, used], keys], 1)
            return self._attention(queries, seen_keys, mx.concatenate([kept_values[:, used], values], 1), mask)

        turn = self._rotations(rows.mask_positions)
        for number, layer in enumerate(self._masked, denoiser.first_layer):
            x = self._forward(number, layer, x, turn, see)
        states = self._normed(x, self._norm)
        found = _logprobs(self._draft_head(states))
        words = likeliest(found)
        doubt = np.array(states.astype(mx.float32) @ self._confidence)
        return Denoised(words, np.take_along_axis(found, words, 1), doubt)

    def _forward(self, number: int, layer: MlxLayer, x: mx.array, turn: Turn, see: See) -> mx.array:
        """Return the states [T, D] after a layer. `see` attends with rotated queries and keys, and values."""
        config = self.config
        joined = layer.qkv(self._normed(x, layer.attention_norm))
        joined = joined.reshape(len(x), -1, config.head_dim).transpose(1, 0, 2)
        turned, values = _rotate(joined[: -config.kv_heads], *turn), joined[-config.kv_heads :]
        x = x + layer.out(see(number, turned[: config.heads], turned[config.heads :], values))
        gate, up = mx.split(layer.gate_up(self._normed(x, layer.mlp_norm)), 2, -1)
        return x + layer.down(gate * mx.sigmoid(gate) * up)

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

    def write(self, buffer: Buffer, slots: slice, prompt: SoftPrompt) -> None:
        """See `Backend`."""
        for (kept_keys, kept_values), keys, values in zip(buffer, prompt.keys, prompt.values, strict=True):
            kept_keys[:, slots], kept_values[:, slots] = mx.array(keys), mx.array(values)
        mx.eval(buffer)

    def rotate(self, buffer: Buffer, slots: slice, by: int) -> None:
        """See `Backend`."""
        cos, sin = self._rotations(np.array([by]))
        for number, (keys, values) in enumerate(buffer):
            keys[:, slots] = _rotate(keys[:, slots], cos, sin)
            buffer[number] = keys, values
        mx.eval(buffer)

    def _attention(self, queries: mx.array, keys: mx.array, values: mx.array, mask: mx.array) -> mx.array:
        """Return the attention [T, heads * hd] of queries [heads, T, hd] to keys and values [kv_heads, S, hd].

        `mask` has the shape [T, S].
        """
        seen = mx.fast.scaled_dot_product_attention(
            queries[None], keys[None], values[None], scale=self.config.head_dim**-0.5, mask=mask
        )
        return seen[0].transpose(1, 0, 2).reshape(queries.shape[1], -1)

    def _embed(self, ids: mx.array) -> mx.array:
        return (self._codes[ids].astype(mx.float32) * self._scales[ids][:, None]).astype(self.dtype)

    def _with_terms(self, layer: MlxLayer, adapter: EditAdapter, number: int, read: MergedLayer) -> MlxLayer:
        """Return a layer with low-rank terms beside its matrices."""

        def plus(name: str, product: Product) -> Product:
            down, up = map(self._array, adapter.unsmoothed_term(number, name, read.factors))
            return lambda x: product(x) + (x @ down.T) @ up.T

        return layer.with_terms(plus)

    def _read_denoiser(self, denoiser: Denoiser, codes: NDArray[np.int8], scales: Floats) -> None:
        """Make the matrices of mask rows; `codes` and `scales` are those of the head."""
        arrays = denoiser.arrays

        def product(name: str, bias: Floats | None = None) -> Product:
            return self._product(arrays[f"{name}.codes"].astype(np.float32) * arrays[f"{name}.scales"], bias)

        self._masked = [
            replace(
                layer,
                attention_norm=self._array(arrays[f"layers.{number}.attention_norm"]),
                qkv=product(f"layers.{number}.qkv", arrays[f"layers.{number}.bias"]),
                out=product(f"layers.{number}.out"),
            )
            for number, layer in enumerate(self._layers)
            if number >= denoiser.first_layer
        ]
        self._entry, self._mask = product("entry"), self._array(arrays["mask"])
        chosen = denoiser.vocabulary
        self._draft_head = self._product(codes[chosen] * scales[chosen, None], None)
        self._confidence = mx.array(arrays["confidence.weight"][:-1])

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

    def _rotations(self, positions: Ints) -> Turn:
        cos, sin = rotations(self.config, positions)
        return mx.array(cos).astype(self.dtype), mx.array(sin).astype(self.dtype)

    def _normed(self, x: mx.array, weight: mx.array) -> mx.array:
        return mx.fast.rms_norm(x, weight, self.config.norm_epsilon)

    def _array(self, vector: Floats) -> mx.array:
        return mx.array(vector).astype(self.dtype)


def _rotate(x: mx.array, cos: mx.array, sin: mx.array) -> mx.array:
    half = x.shape[-1] // 2
    return x * cos + mx.concatenate([-x[..., half:], x[..., :half]], -1) * sin


def _logprobs(logits: mx.array) -> Floats:
    logits = logits.astype(mx.float32)
    return np.array(logits - mx.logsumexp(logits, -1, keepdims=True))
