"""The encoder over a few tokens on a CPU, in numpy.

For a few tokens the cost is the number of operations, not their size, and numpy starts an operation faster than torch.
Tensors and arrays share their memory.
"""

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import silu

from infill_engine.models.quantization.int8_linear import Int8Linear
from infill_engine.models.small.network.dual_encoder import DualEncoder, Write
from infill_engine.models.small.network.layers import EncoderLayer, Joined, KeysValues, Tables

Floats = NDArray[np.float32]
Product = Callable[[Floats], Floats]  # [T, K] -> [T, N]

EPSILON = torch.finfo(torch.float32).eps  # torch's default for norms


def is_narrow(network: DualEncoder) -> bool:
    """Return whether a network can be served this way: joined, in float32, on a CPU."""
    kind = network.smear
    joined = all(layer.projection.joined.product is not None for layer in _layers(network))
    return joined and kind.device.type == "cpu" and kind.dtype == torch.float32


def fastest_write(network: DualEncoder) -> Write:
    """Return the fastest implementation of `DualEncoder.write`."""
    return NarrowEncoder(network).write if is_narrow(network) else network.write


class NarrowEncoder:
    """Computes `DualEncoder.write` in numpy."""

    def __init__(self, network: DualEncoder) -> None:
        self._layers = [_Layer(layer) for layer in _layers(network)]
        self._norm = _weights(network.encoder_norm)

    def write(self, x: Tensor, tables: Tables, room: Sequence[KeysValues], at: int, hidden: Tensor) -> Tensor:
        """See `DualEncoder.write`."""
        states: Floats = x[0].numpy()
        end = at + len(states)
        frame = tables[0].numpy().swapaxes(0, 1), tables[1].numpy().swapaxes(0, 1)
        unseen = hidden[0, :, :, :end]
        for layer, (keys, values) in zip(self._layers, room, strict=True):
            states = layer.through(states, frame, keys[0, :, :end], values[0, :, :end], unseen)
        return torch.from_numpy(_normed(states, self._norm)).unsqueeze(0)


class _Layer:
    def __init__(self, layer: EncoderLayer) -> None:
        projection, feed_forward = layer.projection, layer.feed_forward
        self._heads = projection.heads
        self._norm = _weights(projection.norm)
        query, key = _weights(projection.query_norm), _weights(projection.key_norm)
        self._head_norms = np.repeat([query * query.size**-0.5, key], self._heads, 0)  # includes the score scale
        self._project = _product(projection.joined)
        self._output = _product(layer.output)
        self._inner_norm = _weights(feed_forward.norm)
        self._widen = _product(feed_forward.joined)
        self._narrow = _product(feed_forward.down)

    def through(self, x: Floats, frame: tuple[Floats, Floats], keys: Tensor, values: Tensor, unseen: Tensor) -> Floats:
        """Run one layer over x [T, D] and return x.

        The layer's keys and values are written into `keys` and `values` [H, P+T, hd]. `frame` [T or 1, 1, hd], `unseen`
        [1, T, P+T].
        """
        tokens, heads = len(x), self._heads
        projected = self._project(_normed(x, self._norm)).reshape(tokens, 3 * heads, -1)
        rotated = _rotated(_normed(projected[:, : 2 * heads], self._head_norms), frame).swapaxes(0, 1)
        keys[:, -tokens:] = torch.from_numpy(rotated[heads:])
        values[:, -tokens:] = torch.from_numpy(projected[:, 2 * heads :].swapaxes(0, 1))
        scores = torch.baddbmm(unseen, torch.from_numpy(rotated[:heads]), keys.transpose(1, 2))
        attended: Floats = torch.bmm(torch.softmax(scores, -1), values).numpy()
        x = x + self._output(attended.swapaxes(0, 1).reshape(tokens, -1))
        gate, up = torch.from_numpy(self._widen(_normed(x, self._inner_norm))).chunk(2, -1)
        return x + self._narrow(silu(gate).mul_(up).numpy())


def _layers(network: DualEncoder) -> list[EncoderLayer]:
    return [cast(EncoderLayer, layer) for layer in network.encoder]


def _product(linear: Joined | nn.Linear | Int8Linear) -> Product:
    multiply = linear.product if isinstance(linear, Joined) else linear
    assert multiply is not None  # the layer has been joined
    if isinstance(multiply, Int8Linear):
        return multiply.product_of_rows
    return lambda x: multiply(torch.from_numpy(x)).numpy()


def _weights(norm: nn.RMSNorm) -> Floats:
    found: Floats = norm.weight.detach().numpy()
    return found


def _normed(x: Floats, weights: Floats) -> Floats:
    size = np.sqrt(np.vecdot(x, x) * np.float32(1 / x.shape[-1]) + np.float32(EPSILON))
    normed: Floats = x / size[..., None]
    normed *= weights
    return normed


def _rotated(x: Floats, frame: tuple[Floats, Floats]) -> Floats:
    half = x.shape[-1] // 2
    turned = np.concatenate([x[..., half:], x[..., :half]], -1)
    turned *= frame[1]
    turned += x * frame[0]
    return turned
