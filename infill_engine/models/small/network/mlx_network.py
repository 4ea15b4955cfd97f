"""The small model's network in Apple's MLX. It computes what `network` computes, from the same weights.

It contains only what serving needs, one stream or canvas at a time. Shapes are not rounded up: MLX compiles none.
"""

from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import numpy as np
import torch
from numpy.typing import NDArray

from infill_engine.models.small.network.dual_encoder import DualEncoder

KeysValues = tuple[mx.array, mx.array]  # [B, H, T, hd] each, keys already rotated
Tables = tuple[mx.array, mx.array]
Ints = NDArray[np.int64]

EPSILON = float(np.finfo(np.float32).eps)
DTYPES = {torch.float32: mx.float32, torch.bfloat16: mx.bfloat16, torch.float16: mx.float16}


class MlxDuostream:
    """A network's weights as MLX arrays of one `dtype`, and its forward passes."""

    def __init__(self, network: DualEncoder, dtype: torch.dtype) -> None:
        self.config = network.config
        self.dtype = DTYPES[dtype]
        self._weights = {
            name: mx.array(tensor.float().numpy()).astype(self.dtype) for name, tensor in network.state_dict().items()
        }
        self._cos, self._sin = (mx.array(table.float().numpy()) for table in (network.rotary.cos, network.rotary.sin))

    def rotary(self, positions: Ints) -> Tables:
        """Return the tables of `positions` [T]."""
        index = mx.array(positions)
        return self._cos[index].astype(self.dtype), self._sin[index].astype(self.dtype)

    def embed(self, ids: Ints, direction: int) -> mx.array:
        """Embed stream ids [B, T] to [B, T, D]; see `DualEncoder.embed`."""
        before, before2 = (np.pad(ids, ((0, 0), (shift, 0)))[:, : ids.shape[1]] for shift in (1, 2))
        slots = self.config.ngram_slots
        bigram = (ids * 36_313 + before * 27_191) % slots
        trigram = (ids * 36_313 + before * 27_191 + before2 * 51_647 + 7) % slots
        tokens = self._look_up("tokens", ids) + self._weights["smear"] * self._look_up("tokens", before)
        grams = self._look_up("bigrams", bigram) + self._look_up("trigrams", trigram)
        return tokens + grams + self._weights["directions.weight"][direction]

    def encode(
        self, x: mx.array, tables: Tables, past: Sequence[KeysValues], visible: mx.array | None = None
    ) -> tuple[mx.array, list[KeysValues]]:
        """Return stream states of x [1, T, D] after `past` of length P, and each layer's keys and values of all.

        `visible` [T, P+T] is the attention mask if it is not simply causal.
        """
        mask: mx.array | str = "causal" if visible is None else visible
        kept = []
        for number in range(self.config.encoder_layers):
            layer = f"encoder.{number}"
            query, key, value = self._project(layer, x)
            query, key = rotate(query, tables), rotate(key, tables)
            if past:
                key, value = mx.concatenate([past[number][0], key], 2), mx.concatenate([past[number][1], value], 2)
            kept.append((key, value))
            scale = float(self.config.head_dim**-0.5)
            attended = mx.fast.scaled_dot_product_attention(query, key, value, scale=scale, mask=mask)
            x = self._finish(layer, x, attended)
        return self._norm("encoder_norm", x), kept

    def write(
        self, x: mx.array, tables: Tables, past: Sequence[KeysValues], own: Sequence[KeysValues]
    ) -> tuple[mx.array, list[KeysValues]]:
        """Return the states of one more token for each of R rows, x [R, 1, D], after shared `past` and `own` tokens."""
        kept = []
        for number in range(self.config.encoder_layers):
            layer = f"encoder.{number}"
            query, key, value = self._project(layer, x)
            query, key = rotate(query, tables), rotate(key, tables)
            if own:
                key, value = mx.concatenate([own[number][0], key], 2), mx.concatenate([own[number][1], value], 2)
            kept.append((key, value))
            x = self._finish(layer, x, self._attend([(query, past[number], None), (query, (key, value), None)]))
        return self._norm("encoder_norm", x), kept

    def context_kv(self, states: mx.array, tables: Tables) -> list[KeysValues]:
        """Return what each decoder layer reads of a stream with final `states` [1, T, D]."""
        found = []
        for number in range(self.config.decoder_layers):
            layer = f"decoder.{number}.context"
            key, value = (self._split(self._linear(f"{layer}.{name}", states)) for name in ("key", "value"))
            found.append((rotate(self._norm(f"{layer}.key_norm", key), tables), value))
        return found

    def canvas_input(self, ids: Ints, left: Ints, kind: int, edge: mx.array) -> mx.array:
        """Embed canvas ids and remaining slot counts, [M] each, with the hole's kind and edge states [1, 1, 2D]."""
        slots = self._look_up("tokens", ids[None]) + self._look_up("slots_left", left[None])
        return slots + self._weights["kinds.weight"][kind] + self._linear("edges", edge)

    def decode(
        self,
        x: mx.array,
        frames: tuple[Tables, Tables, Tables],
        prefix: Sequence[KeysValues],
        suffix: Sequence[KeysValues],
        apart: mx.array,
    ) -> mx.array:
        """Return canvas states [1, M, D]. `frames` are canvas, prefix, suffix; `apart` hides rows from each other."""
        canvas, left, right = frames
        for number in range(self.config.decoder_layers):
            layer = f"decoder.{number}"
            query, key, value = self._project(layer, x)
            attended = self._attend(
                [
                    (rotate(query, left), prefix[number], None),
                    (rotate(query, canvas), (rotate(key, canvas), value), apart),
                    (rotate(query, right), suffix[number], None),
                ]
            )
            x = self._finish(layer, x, attended)
        return self._norm("decoder_norm", x)

    def logits(self, states: mx.array) -> mx.array:
        """Return token logits [..., V] of states [..., D], in float32."""
        return (states @ self._weights["tokens.weight"].T).astype(mx.float32)

    def length_logits(self, edge: mx.array, kind: int) -> mx.array:
        """Return logits [1, 1, buckets] over LENGTH_BUCKETS from edge states [1, 1, 2D]."""
        given = mx.concatenate([edge, self._weights["kinds.weight"][kind][None, None]], -1)
        hidden = silu(self._linear("length_hidden", given))
        return self._linear("length_head", hidden).astype(mx.float32)

    def _attend(self, parts: Sequence[tuple[mx.array, KeysValues, mx.array | None]]) -> mx.array:
        """Apply one softmax over the keys of several parts, each with own queries and mask. Returns [B, H, M, hd]."""
        scores = []
        for query, (key, _), mask in parts:
            score = (query @ key.swapaxes(-1, -2)) * self.config.head_dim**-0.5
            scores.append(score if mask is None else score + mask)
        weights = mx.softmax(mx.concatenate(scores, -1).astype(mx.float32), -1).astype(self.dtype)
        attended, start = None, 0
        for _, (key, value), _ in parts:
            end = start + key.shape[2]
            part = weights[..., start:end] @ value
            attended, start = part if attended is None else attended + part, end
        assert attended is not None
        return attended

    def _project(self, layer: str, x: mx.array) -> Sequence[mx.array]:
        """Return query, key and value [B, H, T, hd] of x [B, T, D], not yet rotated."""
        normed = self._norm(f"{layer}.projection.norm", x)
        query, key, value = (
            self._split(self._linear(f"{layer}.projection.{name}", normed)) for name in ("query", "key", "value")
        )
        return (
            self._norm(f"{layer}.projection.query_norm", query),
            self._norm(f"{layer}.projection.key_norm", key),
            value,
        )

    def _finish(self, layer: str, x: mx.array, attended: mx.array) -> mx.array:
        """Apply what follows a layer's attention [B, H, T, hd]: output projection and feed-forward, with residuals."""
        merged = attended.swapaxes(1, 2).flatten(2)
        x = x + self._linear(f"{layer}.output", merged)
        normed = self._norm(f"{layer}.feed_forward.norm", x)
        gate, up = (self._linear(f"{layer}.feed_forward.{name}", normed) for name in ("gate", "up"))
        return x + self._linear(f"{layer}.feed_forward.down", silu(gate) * up)

    def _split(self, x: mx.array) -> mx.array:
        """[B, T, D] -> [B, H, T, hd]"""
        return x.reshape(*x.shape[:-1], self.config.heads, -1).swapaxes(1, 2)

    def _linear(self, name: str, x: mx.array) -> mx.array:
        return x @ self._weights[f"{name}.weight"].T

    def _norm(self, name: str, x: mx.array) -> mx.array:
        return mx.fast.rms_norm(x, self._weights[f"{name}.weight"], EPSILON)

    def _look_up(self, name: str, index: NDArray[Any]) -> mx.array:
        return self._weights[f"{name}.weight"][mx.array(index)]


def rotate(x: mx.array, tables: Tables) -> mx.array:
    """Rotate x [B, H, T, hd]. The two halves of a head's dimensions form the planes."""
    cos, sin = tables
    return x * cos + mx.roll(x, x.shape[-1] // 2, -1) * sin


def silu(x: mx.array) -> mx.array:
    return x * mx.sigmoid(x)
