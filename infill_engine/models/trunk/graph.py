"""The trunk as an OpenVINO graph: the forward pass of `network`, over rows that see kept keys and each other.

    ids [T], cos and sin [1, 1, T, head_dim], mask [T, S + T], wanted [W]
    keys.{i} and values.{i} [kv_heads, S, head_dim]
      ─▶ logprobs [W, V], likeliest_of_blocks [W, V / BLOCK], new.{i} [2 * kv_heads, T, head_dim]

`keys.{i}`, already rotated, and `values.{i}` are those of S kept tokens in layer i. `new.{i}` are those of the rows,
keys first. Only the `wanted` rows get predictions.

Matrices are int8 with a scale for each of their rows. The plugin rounds activations to int8 with a scale for each row,
keeps a matrix in int8 if it is `Constant ─▶ Convert ─▶ Multiply ─▶ MatMul`, and fuses the operations of RMSNorm and of
RoPE if they are written as they are here.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import Node
from openvino import opset15 as op

from infill_engine.models.trunk.config import TrunkConfig

BLOCK = 128  # tokens of the vocabulary whose largest log-probability is computed too, to find the likeliest ones
UNSEEN = np.finfo(np.float32).min / 2  # twice this is still finite
Arrays = Mapping[str, NDArray[Any]]


def build_graph(config: TrunkConfig, arrays: Arrays) -> ov.Model:
    """Return the network with the arrays of `prepared`, which must outlive its compilation."""
    return _Builder(config, arrays).model()


def has_blocks(config: TrunkConfig) -> bool:
    """Return whether the graph computes the largest log-probability of each BLOCK tokens."""
    return config.vocabulary % BLOCK == 0


def compile_graph(model: ov.Model, threads: int) -> ov.CompiledModel:
    """Compile the graph for this machine's CPU."""
    options = {
        "INFERENCE_NUM_THREADS": threads,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": _width(model),
    }
    return ov.Core().compile_model(model, "CPU", options)


def _width(model: ov.Model) -> int:
    """Return the size of a row: it is rounded with a single scale."""
    return int(model.get_rt_info(["width"]).astype(int))


class _Builder:
    """Makes the nodes of one graph."""

    def __init__(self, config: TrunkConfig, arrays: Arrays) -> None:
        self.config, self.arrays = config, arrays
        f32, i32, head = ov.Type.f32, ov.Type.i32, config.head_dim
        self.ids, self.wanted = op.parameter([-1], i32, "ids"), op.parameter([-1], i32, "wanted")
        self.cos, self.sin = op.parameter([1, 1, -1, head], f32, "cos"), op.parameter([1, 1, -1, head], f32, "sin")
        self.mask = op.parameter([-1, -1], f32, "mask")
        shape, parts = [config.kv_heads, -1, head], ("keys", "values")
        self.kept = [[op.parameter(shape, f32, f"{part}.{layer}") for part in parts] for layer in range(config.layers)]
        self.mask_shape = op.shape_of(self.mask)
        self.all_keys = op.gather(self.mask_shape, _ints(1), _int(0))
        self.rows = op.gather(self.mask_shape, _ints(0), _int(0))

    def model(self) -> ov.Model:
        codes, scales = self.arrays["embedding.codes"], self.arrays["embedding.scales"].astype(np.float32)
        x = op.convert(op.gather(_shared(codes), self.ids, _int(0)), "f32")
        x = op.multiply(x, op.gather(op.constant(scales), self.ids, _int(0)))
        new = []
        for layer in range(self.config.layers):
            x, pair = self._layer(layer, x)
            new.append(op.result(pair, name=f"new.{layer}"))
        states = self._norm(op.gather(x, self.wanted, _int(0)), "norm")
        logprobs = op.log_softmax(self._product(states, "embedding" if self.config.tied else "head"), -1)
        outputs = [op.result(logprobs, name="logprobs")]
        if has_blocks(self.config):
            blocks = op.reshape(logprobs, _ints(0, -1, BLOCK), True)
            outputs.append(op.result(op.reduce_max(blocks, _ints(2), False), name="likeliest_of_blocks"))
        inputs = [self.ids, self.cos, self.sin, self.mask, self.wanted, *(part for pair in self.kept for part in pair)]
        model = ov.Model([*outputs, *new], inputs, "trunk")
        model.set_rt_info(self.config.dim, ["width"])
        return model

    def _layer(self, layer: int, x: Node) -> tuple[Node, Node]:
        """Return the states [T, D] after a layer, and the rows' keys and values."""
        name, config = f"layers.{layer}.", self.config
        joined = self._product(self._norm(x, f"{name}attention_norm"), f"{name}qkv")
        joined = op.add(joined, self._vector(f"{name}bias"))
        heads = _ints(1, -1, config.heads + 2 * config.kv_heads, config.head_dim)
        joined = op.transpose(op.reshape(joined, heads, False), _ints(0, 2, 1, 3))
        turned, values = _split(joined, 1, config.heads + config.kv_heads, config.kv_heads)
        queries, keys = _split(self._rotated(turned), 1, config.heads, config.kv_heads)
        keys, values = op.squeeze(keys, _int(0)), op.squeeze(values, _int(0))
        seen = self._attention(queries, keys, values, *self.kept[layer])
        x = op.add(x, self._product(seen, f"{name}out"))
        gate_up = self._product(self._norm(x, f"{name}mlp_norm"), f"{name}gate_up")
        gate, up = _split(gate_up, 1, config.hidden, config.hidden)
        x = op.add(x, self._product(op.multiply(op.swish(gate), up), f"{name}down"))
        return x, op.concat([keys, values], 0)

    def _attention(self, queries: Node, keys: Node, values: Node, kept_keys: Node, kept_values: Node) -> Node:
        """Return what the rows see, [T, query_size]. Kept and new keys stay apart, so that neither is copied."""
        config = self.config
        scale = op.constant(np.float32(config.head_dim**-0.5))
        queries = op.multiply(op.reshape(queries, _ints(config.kv_heads, -1, config.head_dim), False), scale)
        scores = op.concat([op.matmul(queries, kept_keys, False, True), op.matmul(queries, keys, False, True)], 2)
        by_head = op.concat([_ints(config.kv_heads, config.heads // config.kv_heads), self.mask_shape], 0)
        weights = op.softmax(op.add(op.reshape(scores, by_head, False), self.mask), -1)
        weights = op.reshape(weights, op.concat([_ints(config.kv_heads, -1), self.all_keys], 0), False)
        parts = op.concat([op.subtract(self.all_keys, self.rows), self.rows], 0)
        of_kept, of_new = op.variadic_split(weights, _int(2), parts).outputs()
        seen = op.add(op.matmul(of_kept, kept_values, False, False), op.matmul(of_new, values, False, False))
        seen = op.transpose(op.reshape(seen, _ints(config.heads, -1, config.head_dim), False), _ints(1, 0, 2))
        return op.reshape(seen, _ints(-1, config.query_size), False)

    def _rotated(self, x: Node) -> Node:
        """Rotate x [1, heads, T, head_dim] by the angles of its rows; see `network.rotate`."""
        half = self.config.head_dim // 2
        left, right = _split(x, 3, half, half)
        turned = op.concat([op.multiply(right, op.constant(np.full((1, 1, 1, 1), -1, np.float32))), left], -1)
        return op.add(op.multiply(x, self.cos), op.multiply(turned, self.sin))

    def _norm(self, x: Node, name: str) -> Node:
        mean = op.reduce_mean(op.power(x, op.constant(np.float32(2))), _ints(-1), True)
        root = op.sqrt(op.add(mean, op.constant(np.float32(self.config.norm_epsilon))))
        return op.multiply(self._vector(name), op.multiply(x, op.divide(op.constant(np.float32(1)), root)))

    def _product(self, x: Node, name: str) -> Node:
        codes = op.convert(_shared(self.arrays[f"{name}.codes"]), "f16")
        scaled = op.multiply(codes, op.constant(np.array(self.arrays[f"{name}.scales"])))
        return op.matmul(x, op.convert(scaled, "f32"), False, True)

    def _vector(self, name: str) -> Node:
        return op.constant(np.array(self.arrays[name]))


def _shared(array: NDArray[Any]) -> Node:
    """Return a constant that uses the array's own memory."""
    return op.constant(array, shared_memory=True)


def _split(x: Node, axis: int, *sizes: int) -> list[Any]:
    found: list[Any] = op.variadic_split(x, _int(axis), _ints(*sizes)).outputs()
    return found


def _ints(*values: int) -> Node:
    return op.constant(np.array(values, np.int64))


def _int(value: int) -> Node:
    return op.constant(np.int64(value))
