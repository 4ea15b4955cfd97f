"""One branch of the graph: all layers, for a fixed number of rows and mask rows (`graph`).

Matrices and the rows that they multiply are int8, with a scale for each row (`products`). The plugin fuses the
operations of RMSNorm, of RoPE and of attention if they are written as they are here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import openvino as ov
from openvino import Node
from openvino import opset15 as op

from infill_engine.models.trunk.denoiser import Denoiser
from infill_engine.models.trunk.files.shards import Arrays
from infill_engine.models.trunk.forms import Branch
from infill_engine.models.trunk.graph_heads import GraphWeights, Heads
from infill_engine.models.trunk.graph_nodes import constant, int64, shared, split
from infill_engine.models.trunk.products import ints
from infill_engine.models.trunk.slots import MOST_BLOCKS


@dataclass(frozen=True, slots=True)
class _Rows:
    """Where the rows of a part of the network are, and what they see."""

    cos: Node  # [1, 1, T, head_dim]
    sin: Node
    mask: Node  # [1, 1, heads of a key head * T, S]
    own: Node  # [T], where among the S keys theirs are
    kinds: Sequence[tuple[int, Arrays]]  # how many rows there are of each kind, and their weights of attention


class BranchBuilder:
    """Makes the nodes of one branch. `inputs` are parameters of its own, in the order of the graph's."""

    def __init__(self, weights: GraphWeights, heads: Heads, branch: Branch, inputs: list[Any]) -> None:
        self.config, self.arrays, self.products = weights.config, weights.arrays, weights.products
        self.denoiser = weights.denoiser if branch.form.masks else None
        self.terms: Arrays = (weights.terms or {}) if branch.adapted else {}
        self.heads, self.form, self.inputs = heads, branch.form, inputs
        self.ids, self.wanted, self.cos, self.sin, self.mask, self.own, self.anchors, self.slots, *self.kept = inputs
        self.new: list[Node] = []

    def model(self) -> ov.Model:
        """Return the branch with its predictions, and with the rows' new keys and values."""
        codes, scales = self.arrays["embedding.codes"], self.arrays["embedding.scales"].astype(np.float32)
        ids = op.reshape(self.ids, ints(self.form.rows), False)
        x = op.convert(op.gather(shared(codes), ids, int64(0)), "f32")
        x = op.multiply(x, op.gather(op.constant(scales), ids, int64(0)))
        joins = self.config.layers if self.denoiser is None else self.denoiser.first_layer
        rows = self._rows_alone()
        for layer in range(joins):
            x = self._layer(layer, x, rows)
        if self.denoiser is not None:
            x, masks = self._with_blocks(self.denoiser, x, joins)
        norm = self._vector("norm")
        predicted = self.heads.predicted(self._norm(op.gather(x, self.wanted, int64(0)), norm))
        outputs = {**predicted, "new": op.concat(self.new, 0)}
        if self.denoiser is not None:
            outputs |= self.heads.denoised(self.denoiser, self._norm(masks, norm))
        results = [op.result(node, name=name) for name, node in outputs.items()]
        return ov.Model(results, self.inputs, f"{self.form.rows} rows, {self.form.masks} mask rows")

    def _rows_alone(self) -> _Rows:
        """Return what the rows see before mask rows join them."""
        rows, masks = self.form
        cos, sin, mask, own = self._sight()
        if masks:
            cos, sin = split(cos, 2, rows, masks)[0], split(sin, 2, rows, masks)[0]
            mask, own = split(mask, 0, rows, masks)[0], split(own, 0, rows, masks)[0]
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
        entered = op.gather(x, op.reshape(self.anchors, ints(MOST_BLOCKS), False), int64(0))
        norm = constant(denoiser.arrays[f"layers.{joins}.attention_norm"])
        known = self._product(self._norm(entered, norm), denoiser.arrays, "entry")
        known = op.reshape(known, ints(MOST_BLOCKS, denoiser.slots, dim), False)
        known = op.add(known, constant(denoiser.arrays["mask"][None]))
        known = op.reshape(op.add(known, op.reshape(entered, ints(MOST_BLOCKS, 1, dim), False)), ints(-1, dim), False)
        masks = op.gather(known, op.reshape(self.slots, ints(self.form.masks), False), int64(0))
        both, rows = op.concat([x, masks], 0), self._all_rows(denoiser)
        for layer in range(joins, self.config.layers):
            both = self._layer(layer, both, rows)
        x, masks = split(both, 0, *self.form)
        return x, masks

    def _layer(self, layer: int, x: Node, rows: _Rows) -> Node:
        """Return the states after a layer, and keep the rows' new keys and values."""
        name, config = f"layers.{layer}.", self.config
        joined = self._by_kind(x, rows, lambda x, arrays: self._qkv(x, arrays, name))
        heads = ints(1, -1, config.heads + 2 * config.kv_heads, config.head_dim)
        joined = op.transpose(op.reshape(joined, heads, False), ints(0, 2, 1, 3))
        turned, values = split(joined, 1, config.heads + config.kv_heads, config.kv_heads)
        queries, keys = split(self._rotated(turned, rows), 1, config.heads, config.kv_heads)
        seen = self._attention(queries, keys, values, layer, rows)
        x = op.add(x, self._by_kind(seen, rows, lambda x, arrays: self._product(x, arrays, f"{name}out")))
        new = op.concat([keys, values], 1)
        masks = sum(count for count, _ in rows.kinds[1:])
        self.new.append(split(new, 2, self.form.rows, masks)[0] if masks else new)
        return op.add(x, self._mlp(layer, self._norm(x, self._vector(f"{name}mlp_norm"))))

    def _mlp(self, layer: int, x: Node) -> Node:
        """Return the SwiGLU of normed rows x [T, D]."""
        name, config, products = f"layers.{layer}.", self.config, self.products
        entered = products.enter(x, config.dim)
        gate, up = (self._multiply(entered, half, "half") for half in _halves(self.arrays, f"{name}gate_up"))
        if self.terms:
            both = split(self._term(x, f"{name}gate_up"), 1, config.hidden, config.hidden)
            gate, up = (
                op.add(one, products.enter(of, config.hidden)) for one, of in zip((gate, up), both, strict=True)
            )
        inside = op.multiply(op.swish(gate), up)
        down = products.leave(self._multiply(inside, self.arrays, f"{name}down"), config.dim)
        if self.terms:
            down = op.add(down, self._term(products.leave(inside, config.hidden), f"{name}down"))
        return down

    def _by_kind(self, x: Node, rows: _Rows, compute: Callable[[Node, Arrays], Node]) -> Node:
        """Compute each kind of row with its own matrices."""
        if len(rows.kinds) == 1:
            return compute(x, rows.kinds[0][1])
        parts = split(x, 0, *(count for count, _ in rows.kinds))
        return op.concat([compute(part, arrays) for part, (_, arrays) in zip(parts, rows.kinds, strict=True)], 0)

    def _qkv(self, x: Node, arrays: Arrays, layer: str) -> Node:
        joined = self._product(self._norm(x, constant(arrays[f"{layer}attention_norm"])), arrays, f"{layer}qkv")
        return op.add(joined, constant(arrays[f"{layer}bias"]))

    def _attention(self, queries: Node, keys: Node, values: Node, layer: int, rows: _Rows) -> Node:
        """Return what the rows see, [T, query_size]. The heads that share a key head are rows of one product."""
        config, (kept_keys, kept_values) = self.config, self.kept[2 * layer : 2 * layer + 2]
        queries = op.reshape(queries, ints(1, config.kv_heads, -1, config.head_dim), False)
        keys = op.scatter_update(kept_keys, rows.own, keys, int64(2))
        values = op.scatter_update(kept_values, rows.own, values, int64(2))
        seen = op.scaled_dot_product_attention(queries, keys, values, rows.mask)
        seen = op.reshape(seen, ints(1, config.heads, -1, config.head_dim), False)
        return op.reshape(op.transpose(seen, ints(0, 2, 1, 3)), ints(-1, config.query_size), False)

    def _rotated(self, x: Node, rows: _Rows) -> Node:
        """Rotate x [1, heads, T, head_dim] by the angles of its rows; see `network.rotate`."""
        half = self.config.head_dim // 2
        left, right = split(x, 3, half, half)
        turned = op.concat([op.multiply(right, op.constant(np.full((1, 1, 1, 1), -1, np.float32))), left], -1)
        return op.add(op.multiply(x, rows.cos), op.multiply(turned, rows.sin))

    def _norm(self, x: Node, weight: Node) -> Node:
        mean = op.reduce_mean(op.power(x, op.constant(np.float32(2))), ints(-1), True)
        root = op.sqrt(op.add(mean, op.constant(np.float32(self.config.norm_epsilon))))
        return op.multiply(weight, op.multiply(x, op.divide(op.constant(np.float32(1)), root)))

    def _product(self, x: Node, arrays: Arrays, name: str) -> Node:
        """Return rows [T, N] for rows [T, K], with the matrix's low-rank term if the branch has one."""
        product = self.products.of_rows(x, arrays[f"{name}.codes"], arrays[f"{name}.scales"])
        return op.add(product, self._term(x, name)) if f"{name}.up" in self.terms else product

    def _term(self, x: Node, name: str) -> Node:
        """Return the edit adapter's part of a product, [T, N] for rows x [T, K]."""
        for side in ("down", "up"):
            x = op.matmul(x, shared(self.terms[f"{name}.{side}"]), False, True)
        return x

    def _multiply(self, x: Node, arrays: Arrays, name: str) -> Node:
        """Return rows in the products' layout for rows in the same layout."""
        return self.products.multiply(x, arrays[f"{name}.codes"], arrays[f"{name}.scales"])

    def _vector(self, name: str) -> Node:
        return constant(self.arrays[name])


def _halves(arrays: Arrays, name: str) -> tuple[Arrays, Arrays]:
    """Return the upper and the lower half of a matrix, each named `half`, so that a product can end with a function."""
    parts = [np.split(arrays[f"{name}.{kind}"], 2) for kind in ("codes", "scales")]
    upper, lower = ({"half.codes": codes, "half.scales": scales} for codes, scales in zip(*parts, strict=True))
    return upper, lower
