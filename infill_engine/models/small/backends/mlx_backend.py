"""Computes the network with Apple's MLX. Nothing is padded, because MLX compiles no shapes.

Results for the sampling loop are torch tensors on the CPU.
"""

from collections.abc import Sequence

import mlx.core as mx
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from infill_engine.models.base import Ints
from infill_engine.models.canvas.canvas import Canvas
from infill_engine.models.runtime.devices import MLX
from infill_engine.models.small.backends.interface import joined
from infill_engine.models.small.drafting import last_two
from infill_engine.models.small.encoded import Prompt, Side, Sides, Stream
from infill_engine.models.small.network.attention import HIDDEN
from infill_engine.models.small.network.dual_encoder import PREFIX, DualEncoder
from infill_engine.models.small.network.mlx_network import KeysValues, MlxDuostream, rotate
from infill_engine.models.small.scoring import Tree


class MlxBackend:
    """Implements `backend.Backend` for a network on MLX's default device."""

    def __init__(self, network: DualEncoder, dtype: torch.dtype) -> None:
        self._network = MlxDuostream(network, dtype)
        self.config = network.config
        self.device = MLX
        self.profile = ""  # there are no alternatives to choose from

    def empty_stream(self) -> Stream[mx.array]:
        config, dtype = self.config, self._network.dtype
        nothing = mx.zeros((1, config.heads, 0, config.head_dim), dtype)
        return Stream((), ((nothing, nothing),) * config.decoder_layers, mx.zeros((1, 0, config.dim), dtype))

    def extend(self, stream: Stream[mx.array], ids: Ints, direction: int) -> Stream[mx.array]:
        start = stream.length
        states, encoder = self.read(ids, start, direction, stream.encoder)
        decoder = self._network.context_kv(states, self._network.rotary(np.arange(start, len(ids))))
        if start:
            decoder = [joined(self, old, added) for old, added in zip(stream.decoder, decoder, strict=True)]
            states = mx.concatenate([stream.states, states], 1)
        mx.eval(states, decoder)
        return Stream(tuple(encoder), tuple(decoder), states)

    def side(self, stream: Stream[mx.array]) -> Side[mx.array]:
        states = stream.states
        edge = states[:, -1:] if stream.length else mx.zeros((1, 1, states.shape[-1]), states.dtype)
        return Side(stream.decoder, None, edge, stream.length)

    def length_logits(self, sides: Sides[mx.array], kind: int) -> Tensor:
        return _as_torch(self._network.length_logits(_edges(sides), kind))[0, 0]

    def canvas_logits(self, sides: Sides[mx.array], kind: int, canvas: Canvas, wanted: Ints) -> Tensor:
        rotary, index = self._network.rotary, canvas.index
        in_prefix, in_suffix = sides.first_slot
        frames = rotary(index), rotary(in_prefix + index), rotary(in_suffix - index)
        x = self._network.canvas_input(canvas.ids, canvas.left, kind, _edges(sides))
        apart = mx.array(np.where(canvas.row[:, None] == canvas.row, 0.0, HIDDEN).astype(np.float32))
        states = self._network.decode(x, frames, sides.prefix.keys_values, sides.suffix.keys_values, apart)
        return _as_torch(self._network.logits(states[0][mx.array(wanted)]))

    def read(
        self, ids: Ints, start: int, direction: int, past: Sequence[KeysValues] = ()
    ) -> tuple[mx.array, list[KeysValues]]:
        # The n-gram embedding looks two tokens back.
        tail = ids[max(0, start - 2) :][None]
        x = self._network.embed(tail, direction)[:, start - len(ids) :]
        states, layers = self._network.encode(x, self._network.rotary(np.arange(start, len(ids))), past)
        mx.eval(states, layers)  # otherwise the computation would be attributed to the next step
        return states, layers

    def move(self, keys: mx.array, by: int) -> mx.array:
        return rotate(keys, self._network.rotary(np.array([by])))

    def concatenate(self, arrays: Sequence[mx.array], axis: int) -> mx.array:
        return mx.concatenate(list(arrays), axis)

    def writer(self, prompt: Prompt[mx.array], rows: int) -> "MlxWriter":  # noqa: ARG002  (they need no room beforehand)
        return MlxWriter(self._network, prompt)

    def tree_logprobs(self, prompt: Prompt[mx.array], tree: Tree) -> NDArray[np.float32]:
        states = prompt.states[0, -1:]
        if len(tree.tokens):
            states = mx.concatenate([states, self._tree_states(prompt, tree)])
        return _logprobs(self._network, states).numpy()

    def _tree_states(self, prompt: Prompt[mx.array], tree: Tree) -> mx.array:
        """Return stream states [n, D] of a tree's tokens after the prompt."""
        known = prompt.encoder[0][0].shape[2]
        x = self._network.embed(np.array(tree.histories(last_two(prompt.ids), 3)), PREFIX)[:, -1][None]
        visible = np.pad(tree.seen(), ((0, 0), (known, 0)), constant_values=True)
        tables = self._network.rotary(len(prompt.ids) + tree.depths)
        states, _ = self._network.encode(x, tables, prompt.encoder, mx.array(visible))
        return states[0]


class MlxWriter:
    """Implements `drafting.Writer`. Rows share the prompt's keys and values and append their own."""

    def __init__(self, network: MlxDuostream, prompt: Prompt[mx.array]) -> None:
        self._network = network
        self._prompt = prompt
        self._own: list[KeysValues] = []
        self._length = len(prompt.ids)

    def first(self) -> Tensor:
        return _logprobs(self._network, self._prompt.states[0, -1:])

    def after(self, rows: Sequence[Sequence[int]], parents: Sequence[int] = ()) -> Tensor:
        if parents and self._own:
            order = mx.array(list(parents))
            self._own = [(keys[order], values[order]) for keys, values in self._own]
        history = np.array([[*last_two(self._prompt.ids), *row][-3:] for row in rows])
        x = self._network.embed(history, PREFIX)[:, -1:]
        tables = self._network.rotary(np.array([self._length]))
        states, self._own = self._network.write(x, tables, self._prompt.encoder, self._own)
        self._length += 1
        return _logprobs(self._network, states[:, 0])


def _edges(sides: Sides[mx.array]) -> mx.array:
    """Return the states [1, 1, 2D] next to the hole."""
    return mx.concatenate([sides.prefix.edge, sides.suffix.edge], -1)


def _logprobs(network: MlxDuostream, states: mx.array) -> Tensor:
    """Map states [R, D] to log-probabilities [R, V]."""
    return torch.log_softmax(_as_torch(network.logits(states)), -1)


def _as_torch(values: mx.array) -> Tensor:
    return torch.from_numpy(np.array(values))
