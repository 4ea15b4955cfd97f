"""Products of rows with an int8 matrix, in the form that OpenVINO's plugin computes fastest on this processor.

Where the processor multiplies int8 and adds in 32 bits (VNNI, AMX and similar), the plugin rounds the rows before
`Constant ─▶ Convert ─▶ Multiply ─▶ MatMul` to int8 itself, each with a scale of its own ("token-wise", ZeroQuant, arXiv
2206.01861). On other x86 processors it would multiply floats. There, the graph rounds the rows, and a convolution with
a kernel of one by one multiplies them in int8: the plugin has no other product in int8 that packs its matrix only once.
"""

import platform
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import Node
from openvino import opset15 as op

LARGEST = 127  # level of a row, on either side of zero
ZERO = 128  # the code of level 0, because codes of rows are unsigned
CODES = 256
PAIR = (2**15 - 1) // (CODES - 1)  # AVX2 adds the products of two neighbours in 16 bits
LEAST = 1e-12  # the least range of a row, for rows of zeros
PROBE, EXACT = (64, 256), 1e-4  # the shape of a matrix, and the relative error below which nothing was rounded
Codes = NDArray[np.int8]  # [N, K]
Scales = NDArray[np.float16]  # [N, 1]


@dataclass(frozen=True, slots=True)
class Products:
    """Makes the nodes of products. They use a layout of rows of their own, whose axis 1 is a row's."""

    name: str
    enter: Callable[[Node, int], Node]  # rows [T, K], K -> the products' layout
    multiply: Callable[[Node, Codes, Scales], Node]  # rows in that layout, a matrix [N, K], its scales -> [T, N] in it
    leave: Callable[[Node, int], Node]  # [T, N] in that layout, N -> [T, N]

    def of_rows(self, x: Node, codes: Codes, scales: Scales) -> Node:
        """Return rows [T, N] for rows x [T, K]."""
        n, k = codes.shape
        return self.leave(self.multiply(self.enter(x, k), codes, scales), n)


def choose_products() -> Products:
    """Return BY_PLUGIN, or IN_GRAPH where the plugin would multiply floats. Raises RuntimeError if it cannot multiply.

    What a small product is decides, not how long it takes, so a busy machine decides the same.
    """
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return BY_PLUGIN
    random = np.random.default_rng(0)
    codes = random.integers(-LARGEST, LARGEST, PROBE, np.int8, endpoint=True)
    rows = random.standard_normal((16, PROBE[1]), np.float32)
    x = op.parameter([-1, PROBE[1]], ov.Type.f32)
    graph = ov.Model([BY_PLUGIN.multiply(x, codes, np.ones((len(codes), 1), np.float16))], [x], "probe")
    found = ov.Core().compile_model(graph, "CPU", rounding_options(PROBE[1]))([rows])[0]
    exact = rows @ codes.T.astype(np.float32)
    return IN_GRAPH if np.abs(found - exact).max() < EXACT * np.abs(exact).max() else BY_PLUGIN


def rounding_options(width: int) -> dict[str, Any]:
    """Return the options of the plugin with which it rounds each row of this size with a single scale."""
    return {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": width}


def _same(x: Node, _size: int) -> Node:
    return x


def _multiply_by_plugin(x: Node, codes: Codes, scales: Scales) -> Node:
    scaled = op.multiply(op.convert(op.constant(codes, shared_memory=True), "f16"), op.constant(np.array(scales)))
    return op.matmul(x, op.convert(scaled, "f32"), False, True)


def _as_image(x: Node, size: int) -> Node:
    """Return rows [T, K] as an image of T points with K channels, [1, K, T, 1]."""
    return op.transpose(op.reshape(x, ints(1, -1, 1, size), False), ints(0, 3, 1, 2))


def _as_rows(x: Node, size: int) -> Node:
    return op.reshape(op.transpose(x, ints(0, 2, 3, 1)), ints(-1, size), False)


def _multiply_in_graph(x: Node, codes: Codes, scales: Scales) -> Node:
    codes, steps = _fitted(codes, scales)
    steps /= LARGEST
    largest = op.maximum(op.reduce_max(op.absolute(x), ints(1), True), _float(LEAST))
    levels = _float(-ZERO / LARGEST), _float(1), _float(0), _float(CODES - 1)
    rounded = op.fake_quantize(op.divide(x, largest), *levels, CODES)
    kernel = op.convert(op.constant(codes[:, :, None, None], shared_memory=True), "f32")
    kernel = op.multiply(kernel, op.constant(steps[:, None, None, None]))
    product = op.convolution(rounded, kernel, [1, 1], [0, 0], [0, 0], [1, 1])
    of_zero = -ZERO * steps * codes.sum(1, dtype=np.int64)
    product = op.add(product, op.constant(of_zero.astype(np.float32)[None, :, None, None]))
    return op.multiply(product, largest)


def _fitted(codes: Codes, scales: Scales) -> tuple[Codes, NDArray[np.float32]]:
    """Return a matrix [N, K] that no row overflows, and its scales [N].

    Of two neighbours, the products with the largest code of a row must fit into 16 bits. Only a few rows of a matrix
    need smaller codes for that. Input rows of 7 bits would fit with every matrix but cost half as much again.
    """
    steps = scales[:, 0].astype(np.float32)
    even = codes[:, : codes.shape[1] // 2 * 2]
    pairs = np.abs(np.add(even[:, ::2], even[:, 1::2], dtype=np.int16)).max(1)
    (overflowing,) = np.nonzero(pairs > PAIR)
    if len(overflowing):
        shrunk = (PAIR - 1) / pairs[overflowing].astype(np.float32)  # less one, because both may be rounded up
        codes = codes.copy()
        codes[overflowing] = np.rint(codes[overflowing] * shrunk[:, None])
        steps[overflowing] /= shrunk
    return codes, steps


def _float(value: float) -> Node:
    return op.constant(np.float32(value))


def ints(*values: int) -> Node:
    """Return a constant with these numbers, [N]."""
    return op.constant(np.array(values, np.int64))


BY_PLUGIN = Products("rounded by the plugin", _same, _multiply_by_plugin, _same)
IN_GRAPH = Products("rounded in the graph", _as_image, _multiply_in_graph, _as_rows)
