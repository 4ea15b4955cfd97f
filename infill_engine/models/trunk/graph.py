"""The trunk as an OpenVINO graph: the forward pass of `network`, over rows that see kept keys and each other.

    ids [T], cos and sin [1, 1, T, head_dim], mask [T, S + T], wanted [W]
    keys.{i} and values.{i} [kv_heads, S, head_dim]
      ─▶ logprobs [W, V], likeliest_of_blocks [W, V / BLOCK], new.{i} [2 * kv_heads, T, head_dim]

`keys.{i}`, already rotated, and `values.{i}` are those of S kept tokens in layer i. `new.{i}` are those of the rows,
keys first. Only the `wanted` rows get predictions.

With a denoiser, M mask rows join at its first layer, after rows of the same pass:

    anchors [B], slots [M] of these blocks, side by side, cos and sin [1, 1, T + M, head_dim], mask [T + M, S + T + M]
      ─▶ denoised [M, W] and its likeliest_of_blocks, confidence [M, 1]

Matrices and the rows that they multiply are int8, with a scale for each row (`products`). The plugin fuses the
operations of RMSNorm and of RoPE if they are written as they are here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import Node
from openvino import opset15 as op

from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.denoiser import Denoiser
from infill_engine.models.trunk.products import Products, ints, rounding_options

OPERATIONS, WEIGHTS = "graph.xml", "graph.bin"  # the files of a kept graph
BLOCKS = "likeliest_of_blocks"
KERNELS = 96  # of each kind that OpenVINO keeps, for sizes of passes; more take hundreds of MB and save no time
BLOCK = 128  # tokens of the vocabulary in a block; the largest values of the blocks lead to the likeliest tokens
UNSEEN = np.finfo(np.float32).min / 2  # twice this is still finite
Arrays = Mapping[str, NDArray[Any]]


def build_graph(config: TrunkConfig, arrays: Arrays, products: Products, denoiser: Denoiser | None = None) -> ov.Model:
    """Return the network with the arrays of `prepared`."""
    return _Builder(config, arrays, products, denoiser).model()


def compile_graph(graph: ov.Model | Path, width: int, threads: int) -> ov.CompiledModel:
    """Compile a graph, or the folder of a kept one, for this machine's CPU. Raises RuntimeError.

    `width` is the size of a row.
    """
    options: dict[str, Any] = {
        "INFERENCE_NUM_THREADS": threads,
        "PERFORMANCE_HINT": "LATENCY",
        "CPU_RUNTIME_CACHE_CAPACITY": KERNELS,
        **rounding_options(width),
    }
    if isinstance(graph, Path):
        # OpenVINO keeps what it compiles beside the graph, without another copy of the weights.
        options |= {"CACHE_DIR": str(graph), "CACHE_MODE": "OPTIMIZE_SIZE"}
        return ov.Core().compile_model(graph / OPERATIONS, "CPU", options)
    return ov.Core().compile_model(graph, "CPU", options)


@dataclass(frozen=True, slots=True)
class _Sight:
    """Where rows are, and what they see: the inputs `cos`, `sin` and `mask`."""

    cos: Node
    sin: Node
    mask: Node


@dataclass(frozen=True, slots=True)
class _Blocks:
    """The weights of mask rows, what they and the rows before them see, and how many of each there are [2]."""

    arrays: Arrays
    sight: _Sight
    counts: Node


class _Builder:
    """Makes the nodes of one graph."""

    def __init__(self, config: TrunkConfig, arrays: Arrays, products: Products, denoiser: Denoiser | None) -> None:
        self.config, self.arrays, self.products, self.denoiser = config, arrays, products, denoiser
        f32, i32 = ov.Type.f32, ov.Type.i32
        self.ids, self.wanted = op.parameter([-1], i32, "ids"), op.parameter([-1], i32, "wanted")
        shape, parts = [config.kv_heads, -1, config.head_dim], ("keys", "values")
        self.kept = [[op.parameter(shape, f32, f"{part}.{layer}") for part in parts] for layer in range(config.layers)]
        self.inputs = [self.ids, self.wanted, *(part for pair in self.kept for part in pair)]
        self.sight = self._new_sight("")
        self.outputs: list[Node] = []

    def model(self) -> ov.Model:
        codes, scales = self.arrays["embedding.codes"], self.arrays["embedding.scales"].astype(np.float32)
        x = op.convert(op.gather(_shared(codes), self.ids, _int(0)), "f32")
        x = op.multiply(x, op.gather(op.constant(scales), self.ids, _int(0)))
        joins = self.config.layers if self.denoiser is None else self.denoiser.first_layer
        for layer in range(joins):
            x = self._layer(layer, x)
        if self.denoiser is not None:
            x, masks = self._with_blocks(self.denoiser, x, joins)
        states = self._norm(op.gather(x, self.wanted, _int(0)), self._vector("norm"))
        name = "embedding" if self.config.tied else "head"
        self._predict("logprobs", self._product(states, self.arrays, name), self.config.vocabulary)
        if self.denoiser is not None:
            self._denoise(self.denoiser, self._norm(masks, self._vector("norm")), name)
        return ov.Model(self.outputs, self.inputs, "trunk")

    def _new_sight(self, suffix: str) -> "_Sight":
        """Return the inputs that say where rows are and what they see."""
        shape, f32 = [1, 1, -1, self.config.head_dim], ov.Type.f32
        made = _Sight(
            op.parameter(shape, f32, f"cos{suffix}"),
            op.parameter(shape, f32, f"sin{suffix}"),
            op.parameter([-1, -1], f32, f"mask{suffix}"),
        )
        self.inputs += [made.cos, made.sin, made.mask]
        return made

    def _with_blocks(self, denoiser: Denoiser, x: Node, joins: int) -> tuple[Node, Node]:
        """Return the states of the rows and of the mask rows, which join at the layer `joins`."""
        anchors = op.parameter([-1], ov.Type.i32, "anchors")
        slots, dim = op.parameter([-1], ov.Type.i32, "slots"), self.config.dim
        self.inputs += [anchors, slots]
        entered = op.gather(x, anchors, _int(0))
        norm = _constant(denoiser.arrays[f"layers.{joins}.attention_norm"])
        known = self._product(self._norm(entered, norm), denoiser.arrays, "entry")
        known = op.reshape(known, ints(-1, denoiser.slots, dim), False)
        known = op.add(known, _constant(denoiser.arrays["mask"][None]))
        known = op.add(known, op.reshape(entered, ints(-1, 1, dim), False))
        masks = op.gather(op.reshape(known, ints(-1, dim), False), slots, _int(0))
        sight = self._new_sight(".blocks")
        counts = op.concat([op.shape_of(self.ids), op.shape_of(slots)], 0)
        both = op.concat([x, masks], 0)
        for layer in range(joins, self.config.layers):
            both = self._layer(layer, both, _Blocks(denoiser.arrays, sight, counts))
        x, masks = op.variadic_split(both, _int(0), counts).outputs()
        return x, masks

    def _denoise(self, denoiser: Denoiser, states: Node, head: str) -> None:
        arrays = {f"draft.{kind}": self.arrays[f"{head}.{kind}"][denoiser.vocabulary] for kind in ("codes", "scales")}
        self._predict("denoised", self._product(states, arrays, "draft"), len(denoiser.vocabulary))
        weight = denoiser.arrays["confidence.weight"][:-1].reshape(-1, 1)
        self.outputs.append(op.result(op.matmul(states, _constant(weight), False, False), name="confidence"))

    def _predict(self, name: str, logits: Node, size: int) -> None:
        logprobs = op.log_softmax(logits, -1)
        self.outputs.append(op.result(logprobs, name=name))
        if size % BLOCK == 0:
            blocks = op.reduce_max(op.reshape(logprobs, ints(0, -1, BLOCK), True), ints(2), False)
            self.outputs.append(op.result(blocks, name=f"{name}.{BLOCKS}"))

    def _layer(self, layer: int, x: Node, blocks: "_Blocks | None" = None) -> Node:
        """Return the states after a layer, and make the rows' keys and values an output."""
        name, config = f"layers.{layer}.", self.config
        sight = self.sight if blocks is None else blocks.sight
        joined = self._by_kind(x, blocks, lambda x, arrays: self._qkv(x, arrays, name))
        heads = ints(1, -1, config.heads + 2 * config.kv_heads, config.head_dim)
        joined = op.transpose(op.reshape(joined, heads, False), ints(0, 2, 1, 3))
        turned, values = _split(joined, 1, config.heads + config.kv_heads, config.kv_heads)
        queries, keys = _split(self._rotated(turned, sight), 1, config.heads, config.kv_heads)
        keys, values = op.squeeze(keys, _int(0)), op.squeeze(values, _int(0))
        seen = self._attention(queries, keys, values, self.kept[layer], sight.mask)
        x = op.add(x, self._by_kind(seen, blocks, lambda x, arrays: self._product(x, arrays, f"{name}out")))
        normed = self.products.enter(self._norm(x, self._vector(f"{name}mlp_norm")), config.dim)
        gate, up = _split(self._multiply(normed, self.arrays, f"{name}gate_up"), 1, config.hidden, config.hidden)
        down = self._multiply(op.multiply(op.swish(gate), up), self.arrays, f"{name}down")
        x = op.add(x, self.products.leave(down, config.dim))
        new = op.concat([keys, values], 0)
        if blocks is not None:
            new = op.variadic_split(new, _int(1), blocks.counts).outputs()[0]
        self.outputs.append(op.result(new, name=f"new.{layer}"))
        return x

    def _by_kind(self, x: Node, blocks: "_Blocks | None", compute: Callable[[Node, Arrays], Node]) -> Node:
        """Compute the rows with the trunk's matrices, and the mask rows with their own."""
        if blocks is None:
            return compute(x, self.arrays)
        rows, masks = op.variadic_split(x, _int(0), blocks.counts).outputs()
        return op.concat([compute(rows, self.arrays), compute(masks, blocks.arrays)], 0)

    def _qkv(self, x: Node, arrays: Arrays, layer: str) -> Node:
        joined = self._product(self._norm(x, _constant(arrays[f"{layer}attention_norm"])), arrays, f"{layer}qkv")
        return op.add(joined, _constant(arrays[f"{layer}bias"]))

    def _attention(self, queries: Node, keys: Node, values: Node, kept: Sequence[Node], mask: Node) -> Node:
        """Return what the rows see, [T, query_size]. Kept and new keys stay apart, so that neither is copied."""
        kept_keys, kept_values = kept
        config, shape = self.config, op.shape_of(mask)
        rows, all_keys = op.gather(shape, ints(0), _int(0)), op.gather(shape, ints(1), _int(0))
        scale = op.constant(np.float32(config.head_dim**-0.5))
        queries = op.multiply(op.reshape(queries, ints(config.kv_heads, -1, config.head_dim), False), scale)
        scores = op.concat([op.matmul(queries, kept_keys, False, True), op.matmul(queries, keys, False, True)], 2)
        by_head = op.concat([ints(config.kv_heads, config.heads // config.kv_heads), shape], 0)
        weights = op.softmax(op.add(op.reshape(scores, by_head, False), mask), -1)
        weights = op.reshape(weights, op.concat([ints(config.kv_heads, -1), all_keys], 0), False)
        parts = op.concat([op.subtract(all_keys, rows), rows], 0)
        of_kept, of_new = op.variadic_split(weights, _int(2), parts).outputs()
        seen = op.add(op.matmul(of_kept, kept_values, False, False), op.matmul(of_new, values, False, False))
        seen = op.transpose(op.reshape(seen, ints(config.heads, -1, config.head_dim), False), ints(1, 0, 2))
        return op.reshape(seen, ints(-1, config.query_size), False)

    def _rotated(self, x: Node, sight: _Sight) -> Node:
        """Rotate x [1, heads, T, head_dim] by the angles of its rows; see `network.rotate`."""
        half = self.config.head_dim // 2
        left, right = _split(x, 3, half, half)
        turned = op.concat([op.multiply(right, op.constant(np.full((1, 1, 1, 1), -1, np.float32))), left], -1)
        return op.add(op.multiply(x, sight.cos), op.multiply(turned, sight.sin))

    def _norm(self, x: Node, weight: Node) -> Node:
        mean = op.reduce_mean(op.power(x, op.constant(np.float32(2))), ints(-1), True)
        root = op.sqrt(op.add(mean, op.constant(np.float32(self.config.norm_epsilon))))
        return op.multiply(weight, op.multiply(x, op.divide(op.constant(np.float32(1)), root)))

    def _product(self, x: Node, arrays: Arrays, name: str) -> Node:
        """Return rows [T, N] for rows [T, K]."""
        n, k = arrays[f"{name}.codes"].shape
        return self.products.leave(self._multiply(self.products.enter(x, k), arrays, name), n)

    def _multiply(self, x: Node, arrays: Arrays, name: str) -> Node:
        """Return rows in the products' layout for rows in the same layout."""
        return self.products.multiply(x, arrays[f"{name}.codes"], arrays[f"{name}.scales"])

    def _vector(self, name: str) -> Node:
        return _constant(self.arrays[name])


def _constant(array: NDArray[Any]) -> Node:
    """Return a constant with a copy of the array."""
    return op.constant(np.array(array))


def _shared(array: NDArray[Any]) -> Node:
    """Return a constant that uses the array's own memory."""
    return op.constant(array, shared_memory=True)


def _split(x: Node, axis: int, *sizes: int) -> list[Any]:
    found: list[Any] = op.variadic_split(x, _int(axis), ints(*sizes)).outputs()
    return found


def _int(value: int) -> Node:
    return op.constant(np.int64(value))
