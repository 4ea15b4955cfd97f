"""The trunk as an OpenVINO graph: the forward pass of `network`, over rows that see kept keys and each other.

    form                                             the number of the form
    ids [T], cos and sin [1, 1, T + M, head_dim], mask [T + M, S + T + M], wanted [W], anchors [BLOCKS], slots [M]
    keys.{i} and values.{i} [1, kv_heads, S, head_dim]
      ─▶ of the form with the number n:
         logprobs.{n} [W, V], logprobs.{n}.likeliest_of_blocks [W, V / BLOCK]
         new.{n} [layers, 2 * kv_heads, T, head_dim]
         denoised.{n} [M, words] and its likeliest_of_blocks, confidence.{n} [M, 1]

T rows and M mask rows are those of the form (`forms`). Each form has a branch of its own, in which these numbers are
fixed; branches share the weights, and only one is computed. `keys.{i}`, already rotated, and `values.{i}` are those of
S kept tokens in layer i. `new` are those of the rows, keys first. Only the `wanted` rows get predictions.

Mask rows join at the denoiser's first layer, after the rows of the same pass. `anchors` are the rows of their blocks,
and `slots` the slots of these blocks, side by side.

Matrices and the rows that they multiply are int8, with a scale for each row (`products`). The plugin fuses the
operations of RMSNorm, of RoPE and of attention if they are written as they are here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import Node
from openvino import opset15 as op

from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.denoiser import Denoiser
from infill_engine.models.trunk.forms import Form, forms_of
from infill_engine.models.trunk.products import Products, ints

OPERATIONS, WEIGHTS = "graph.xml", "graph.bin"  # the files of a kept graph
LIKELIEST_OF_BLOCKS = "likeliest_of_blocks"
BLOCKS = 3  # of mask rows in a pass, at most
BLOCK = 128  # tokens of the vocabulary in a block; the largest values of the blocks lead to the likeliest tokens
UNSEEN = np.finfo(np.float32).min / 2  # twice this is still finite
Arrays = Mapping[str, NDArray[Any]]


def build_graph(config: TrunkConfig, arrays: Arrays, products: Products, denoiser: Denoiser | None = None) -> ov.Model:
    """Return the network with the arrays of `prepared`."""
    return _Builder(config, arrays, products, denoiser).model()


@dataclass(frozen=True, slots=True)
class _Rows:
    """Where the rows of a part of the network are, and what they see."""

    cos: Node  # [1, 1, T, head_dim]
    sin: Node
    mask: Node  # [1, 1, heads of a key head * T, S]
    own: Node  # [T], where among the S keys theirs are
    kinds: Sequence[tuple[int, Arrays]]  # how many rows there are of each kind, and their weights of attention


class _Builder:
    """Makes the nodes of one graph."""

    def __init__(self, config: TrunkConfig, arrays: Arrays, products: Products, denoiser: Denoiser | None) -> None:
        self.config, self.arrays, self.products, self.denoiser = config, arrays, products, denoiser
        self.head = "embedding" if config.tied else "head"
        self.shared: dict[str, NDArray[Any]] = {}  # arrays that several branches use
        if denoiser is not None:
            for kind in ("codes", "scales"):
                self.shared[f"draft.{kind}"] = arrays[f"{self.head}.{kind}"][denoiser.vocabulary]

    def model(self) -> ov.Model:
        """Return one branch for each form."""
        form = op.parameter([], ov.Type.i32, "form")
        inputs = self._inputs()
        outputs = []
        for number, each in enumerate(forms_of(denoises=self.denoiser is not None)):
            branch = _Branch(self, each, self._inputs()).model()
            chosen = op.if_op(op.equal(form, op.constant(np.int32(number))).output(0))
            empty = _empty(branch)
            chosen.set_then_body(branch)
            chosen.set_else_body(empty)
            for outer, inner in zip(inputs, branch.get_parameters(), strict=True):
                chosen.set_input(outer.output(0), inner, None)
            for one, other in zip(branch.get_results(), empty.get_results(), strict=True):
                outputs.append(op.result(chosen.set_output(one, other), name=f"{one.friendly_name}.{number}"))
        return ov.Model(outputs, [form, *inputs], "trunk")

    def _inputs(self) -> list[Any]:
        config, f32, i32 = self.config, ov.Type.f32, ov.Type.i32
        kept, parts = [1, config.kv_heads, -1, config.head_dim], ("keys", "values")
        return [
            op.parameter([-1], i32, "ids"),
            op.parameter([-1], i32, "wanted"),
            op.parameter([1, 1, -1, config.head_dim], f32, "cos"),
            op.parameter([1, 1, -1, config.head_dim], f32, "sin"),
            op.parameter([-1, -1], f32, "mask"),
            op.parameter([-1], i32, "own"),
            op.parameter([-1], i32, "anchors"),
            op.parameter([-1], i32, "slots"),
            *(op.parameter(kept, f32, f"{part}.{layer}") for layer in range(config.layers) for part in parts),
        ]


class _Branch:
    """Makes the nodes for one form."""

    def __init__(self, builder: _Builder, form: Form, inputs: list[Any]) -> None:
        self.config, self.arrays, self.products = builder.config, builder.arrays, builder.products
        self.denoiser = builder.denoiser if form.masks else None
        self.builder, self.form, self.inputs = builder, form, inputs
        self.ids, self.wanted, self.cos, self.sin, self.mask, self.own, self.anchors, self.slots, *self.kept = inputs
        self.new: list[Node] = []
        self.outputs: list[Node] = []

    def model(self) -> ov.Model:
        codes, scales = self.arrays["embedding.codes"], self.arrays["embedding.scales"].astype(np.float32)
        ids = op.reshape(self.ids, ints(self.form.rows), False)
        x = op.convert(op.gather(_shared(codes), ids, _int(0)), "f32")
        x = op.multiply(x, op.gather(op.constant(scales), ids, _int(0)))
        joins = self.config.layers if self.denoiser is None else self.denoiser.first_layer
        rows = self._rows_alone()
        for layer in range(joins):
            x = self._layer(layer, x, rows)
        if self.denoiser is not None:
            x, masks = self._with_blocks(self.denoiser, x, joins)
        states = self._norm(op.gather(x, self.wanted, _int(0)), self._vector("norm"))
        head = self.builder.head
        self._predict("logprobs", self._product(states, self.arrays, head), self.config.vocabulary)
        self.outputs.append(op.result(op.concat(self.new, 0), name="new"))
        if self.denoiser is not None:
            self._denoise(self.denoiser, self._norm(masks, self._vector("norm")))
        return ov.Model(self.outputs, self.inputs, f"{self.form.rows} rows, {self.form.masks} mask rows")

    def _rows_alone(self) -> _Rows:
        """Return what the rows see before mask rows join them."""
        rows, masks = self.form
        cos, sin, mask, own = self._sight()
        if masks:
            cos, sin = _split(cos, 2, rows, masks)[0], _split(sin, 2, rows, masks)[0]
            mask, own = _split(mask, 0, rows, masks)[0], _split(own, 0, rows, masks)[0]
        return _Rows(cos, sin, self._by_group(mask, rows), own, [(rows, self.arrays)])

    def _all_rows(self, denoiser: Denoiser) -> _Rows:
        """Return what the rows and mask rows see."""
        rows, masks = self.form
        cos, sin, mask, own = self._sight()
        kinds = [(rows, self.arrays), (masks, denoiser.arrays)]
        return _Rows(cos, sin, self._by_group(mask, rows + masks), own, kinds)

    def _sight(self) -> tuple[Node, Node, Node, Node]:
        """Return the inputs about all rows, whose number is fixed."""
        every = sum(self.form)
        mask, own = op.reshape(self.mask, ints(every, -1), False), op.reshape(self.own, ints(every), False)
        return self._fixed(self.cos, every), self._fixed(self.sin, every), mask, own

    def _fixed(self, table: Node, rows: int) -> Node:
        """Return cosines or sines whose number of rows is fixed."""
        return op.reshape(table, ints(1, 1, rows, self.config.head_dim), False)

    def _by_group(self, mask: Node, rows: int) -> Node:
        """Repeat a mask [T, S + T] for each of the heads that share a key head."""
        groups = self.config.heads // self.config.kv_heads
        return op.reshape(op.concat([mask] * groups, 0), ints(1, 1, groups * rows, -1), False)

    def _with_blocks(self, denoiser: Denoiser, x: Node, joins: int) -> tuple[Node, Node]:
        """Return the states of the rows and of the mask rows, which join at the layer `joins`."""
        dim = self.config.dim
        entered = op.gather(x, op.reshape(self.anchors, ints(BLOCKS), False), _int(0))
        norm = _constant(denoiser.arrays[f"layers.{joins}.attention_norm"])
        known = self._product(self._norm(entered, norm), denoiser.arrays, "entry")
        known = op.reshape(known, ints(BLOCKS, denoiser.slots, dim), False)
        known = op.add(known, _constant(denoiser.arrays["mask"][None]))
        known = op.reshape(op.add(known, op.reshape(entered, ints(BLOCKS, 1, dim), False)), ints(-1, dim), False)
        masks = op.gather(known, op.reshape(self.slots, ints(self.form.masks), False), _int(0))
        both, rows = op.concat([x, masks], 0), self._all_rows(denoiser)
        for layer in range(joins, self.config.layers):
            both = self._layer(layer, both, rows)
        x, masks = _split(both, 0, *self.form)
        return x, masks

    def _denoise(self, denoiser: Denoiser, states: Node) -> None:
        words = len(denoiser.vocabulary)
        self._predict("denoised", self._product(states, self.builder.shared, "draft"), words)
        weight = denoiser.arrays["confidence.weight"][:-1].reshape(-1, 1)
        self.outputs.append(op.result(op.matmul(states, _constant(weight), False, False), name="confidence"))

    def _predict(self, name: str, logits: Node, size: int) -> None:
        logprobs = op.log_softmax(logits, -1)
        self.outputs.append(op.result(logprobs, name=name))
        if size % BLOCK == 0:
            blocks = op.reduce_max(op.reshape(logprobs, ints(0, -1, BLOCK), True), ints(2), False)
            self.outputs.append(op.result(blocks, name=f"{name}.{LIKELIEST_OF_BLOCKS}"))

    def _layer(self, layer: int, x: Node, rows: _Rows) -> Node:
        """Return the states after a layer, and keep the rows' new keys and values."""
        name, config = f"layers.{layer}.", self.config
        joined = self._by_kind(x, rows, lambda x, arrays: self._qkv(x, arrays, name))
        heads = ints(1, -1, config.heads + 2 * config.kv_heads, config.head_dim)
        joined = op.transpose(op.reshape(joined, heads, False), ints(0, 2, 1, 3))
        turned, values = _split(joined, 1, config.heads + config.kv_heads, config.kv_heads)
        queries, keys = _split(self._rotated(turned, rows), 1, config.heads, config.kv_heads)
        seen = self._attention(queries, keys, values, layer, rows)
        x = op.add(x, self._by_kind(seen, rows, lambda x, arrays: self._product(x, arrays, f"{name}out")))
        normed = self.products.enter(self._norm(x, self._vector(f"{name}mlp_norm")), config.dim)
        gate, up = (self._multiply(normed, half, "half") for half in _halves(self.arrays, f"{name}gate_up"))
        down = self._multiply(op.multiply(op.swish(gate), up), self.arrays, f"{name}down")
        x = op.add(x, self.products.leave(down, config.dim))
        new = op.concat([keys, values], 1)
        masks = sum(count for count, _ in rows.kinds[1:])
        self.new.append(_split(new, 2, self.form.rows, masks)[0] if masks else new)
        return x

    def _by_kind(self, x: Node, rows: _Rows, compute: Callable[[Node, Arrays], Node]) -> Node:
        """Compute each kind of row with its own matrices."""
        if len(rows.kinds) == 1:
            return compute(x, rows.kinds[0][1])
        parts = _split(x, 0, *(count for count, _ in rows.kinds))
        return op.concat([compute(part, arrays) for part, (_, arrays) in zip(parts, rows.kinds, strict=True)], 0)

    def _qkv(self, x: Node, arrays: Arrays, layer: str) -> Node:
        joined = self._product(self._norm(x, _constant(arrays[f"{layer}attention_norm"])), arrays, f"{layer}qkv")
        return op.add(joined, _constant(arrays[f"{layer}bias"]))

    def _attention(self, queries: Node, keys: Node, values: Node, layer: int, rows: _Rows) -> Node:
        """Return what the rows see, [T, query_size]. The heads that share a key head are rows of one product."""
        config, (kept_keys, kept_values) = self.config, self.kept[2 * layer : 2 * layer + 2]
        queries = op.reshape(queries, ints(1, config.kv_heads, -1, config.head_dim), False)
        keys = op.scatter_update(kept_keys, rows.own, keys, _int(2))
        values = op.scatter_update(kept_values, rows.own, values, _int(2))
        seen = op.scaled_dot_product_attention(queries, keys, values, rows.mask)
        seen = op.reshape(seen, ints(1, config.heads, -1, config.head_dim), False)
        return op.reshape(op.transpose(seen, ints(0, 2, 1, 3)), ints(-1, config.query_size), False)

    def _rotated(self, x: Node, rows: _Rows) -> Node:
        """Rotate x [1, heads, T, head_dim] by the angles of its rows; see `network.rotate`."""
        half = self.config.head_dim // 2
        left, right = _split(x, 3, half, half)
        turned = op.concat([op.multiply(right, op.constant(np.full((1, 1, 1, 1), -1, np.float32))), left], -1)
        return op.add(op.multiply(x, rows.cos), op.multiply(turned, rows.sin))

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


def _halves(arrays: Arrays, name: str) -> tuple[Arrays, Arrays]:
    """Return the upper and the lower half of a matrix, each named `half`, so that a product can end with a function."""
    parts = [np.split(arrays[f"{name}.{kind}"], 2) for kind in ("codes", "scales")]
    upper, lower = ({"half.codes": codes, "half.scales": scales} for codes, scales in zip(*parts, strict=True))
    return upper, lower


def _empty(branch: ov.Model) -> ov.Model:
    """Return what stands for the outputs of a branch that is not computed."""
    results = []
    for output in branch.outputs:
        shape = [0, *(1 if size.is_dynamic else size.get_length() for size in list(output.partial_shape)[1:])]
        results.append(op.result(op.constant(np.zeros(shape, np.float32))))
    return ov.Model(results, [], "nothing")


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
