"""Serves a `Duostream` network through Apple's MLX: the streams are kept as for torch, the arithmetic is another's.

What the sampling loop reads comes back as torch tensors on the CPU. Stream and Side hold MLX arrays here.
"""

from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from infill_engine.canvas.canvas import Canvas
from infill_engine.context.ngrams import Ngrams
from infill_engine.models.base import Context, ProposedLength
from infill_engine.models.devices import MLX
from infill_engine.models.duostream.continuation import Writer, last_two
from infill_engine.models.duostream.family import (
    FORBIDDEN,
    KINDS,
    DuostreamFamily,
    Prompt,
    Side,
    Sides,
    Stream,
    likeliest,
)
from infill_engine.models.duostream.judging import Tree
from infill_engine.models.duostream.mlx_net import KeysValues, MlxDuostream, rotate
from infill_engine.models.duostream.net import MAX_SLOTS, PREFIX, Duostream
from infill_engine.models.duostream.vocabulary import BytesVocabulary
from infill_engine.types import HoleKind


class MlxFamily(DuostreamFamily):
    """Implements `infill_engine.models.base.ModelFamily` for the embedded default on MLX's default device."""

    def __init__(
        self, network: Duostream, vocabulary: BytesVocabulary, dtype: torch.dtype, project: Ngrams | None = None
    ) -> None:
        super().__init__(network, vocabulary, MLX, project)
        self._mlx = MlxDuostream(network, dtype)
        del self.network, self._write  # its weights are kept once

    def propose_lengths(self, context: Context, kind: HoleKind, limit: int) -> list[ProposedLength]:
        logits = self._mlx.length_logits(self._edges(context.state), KINDS.index(kind))
        return likeliest(_as_torch(logits)[0, 0], limit)

    def denoise(self, context: Context, kind: HoleKind, canvas: Canvas, wanted: NDArray[np.int64]) -> Tensor:
        sides: Sides = context.state
        suffix_end = max(sides.suffix.length, 1) - 1 + MAX_SLOTS
        places = (canvas.index, sides.prefix.length + canvas.index, suffix_end - canvas.index)
        canvas_frame, prefix_frame, suffix_frame = map(self._mlx.rotary, places)
        x = self._mlx.canvas_input(canvas.ids, canvas.left, KINDS.index(kind), self._edges(sides))
        apart = np.where(canvas.row[:, None] == canvas.row, 0.0, FORBIDDEN).astype(np.float32)
        states = self._mlx.decode(
            x,
            (canvas_frame, prefix_frame, suffix_frame),
            _arrays(sides.prefix.keys_values),
            _arrays(sides.suffix.keys_values),
            mx.array(apart),
        )
        return _as_torch(self._mlx.logits(states[0][mx.array(wanted)]))

    def _writer(self, prompt: Prompt, rows: int) -> Writer:  # noqa: ARG002  (they need no room beforehand)
        return MlxWriter(self._mlx, prompt)

    def _states_of(self, prompt: Prompt, tree: Tree) -> Any:
        known = _arrays(prompt.encoder)[0][0].shape[2]
        x = self._mlx.embed(np.array(tree.histories(last_two(prompt.ids), 3)), PREFIX)[:, -1][None]
        visible = np.pad(tree.seen(), ((0, 0), (known, 0)), constant_values=True)
        tables = self._mlx.rotary(len(prompt.ids) + tree.depths)
        states, _ = self._mlx.encode(x, tables, _arrays(prompt.encoder), mx.array(visible))
        return states[0]

    def _logprobs(self, states: Any) -> NDArray[np.float32]:
        return np.asarray(torch.log_softmax(_as_torch(self._mlx.logits(states)), -1))

    def _extended(self, past: Stream | None, ids: NDArray[np.int64], start: int, end: int, direction: int) -> Stream:
        stream = super()._extended(past, ids, start, end, direction)
        mx.eval(_array(stream.states), _arrays(stream.decoder))
        return stream

    def _read(
        self, ids: NDArray[np.int64], start: int, direction: int, past: Sequence[Any] = ()
    ) -> tuple[Any, list[Any]]:
        # The n-gram embedding looks two tokens back.
        tail = ids[max(0, start - 2) :][None]
        x = self._mlx.embed(tail, direction)[:, start - len(ids) :]
        states, layers = self._mlx.encode(x, self._mlx.rotary(np.arange(start, len(ids))), past)
        mx.eval(states, layers)  # what is not computed now would count as the next step's time
        return states, layers

    def _moved(self, keys: Any, by: int) -> Any:
        return rotate(keys, self._mlx.rotary(np.array([by])))

    def _context_kv(self, states: Any, start: int) -> list[Any]:
        found: list[Any] = self._mlx.context_kv(states, self._mlx.rotary(np.arange(start, start + states.shape[1])))
        return found

    def _cat(self, parts: list[Any], dim: int) -> Any:
        return mx.concatenate(parts, dim)

    def _side(self, stream: Stream) -> Side:
        states: Any = stream.states
        length = states.shape[1]
        edge: Any = states[:, -1:] if length else mx.zeros((1, 1, states.shape[-1]), self._mlx.dtype)
        return Side(stream.decoder, None, edge, length)  # nothing is padded

    def _no_stream(self) -> Stream:
        config = self._mlx.config
        nothing = mx.zeros((1, config.heads, 0, config.head_dim), self._mlx.dtype)
        states = mx.zeros((1, 0, config.dim), self._mlx.dtype)
        return _stream([], [(nothing, nothing)] * config.decoder_layers, states)

    def _edges(self, sides: Sides) -> mx.array:
        return mx.concatenate([_array(sides.prefix.edge), _array(sides.suffix.edge)], -1)


class MlxWriter:
    """Implements `continuation.Writer`: rows share the prompt's keys and values and have their own behind them."""

    def __init__(self, network: MlxDuostream, prompt: Prompt) -> None:
        self._network = network
        self._prompt = prompt
        self._own: list[KeysValues] = []
        self._length = len(prompt.ids)

    def first(self) -> Tensor:
        return self._logprobs(_array(self._prompt.states)[0, -1:])

    def after(self, rows: Sequence[Sequence[int]], parents: Sequence[int] = ()) -> Tensor:
        if parents and self._own:
            order = mx.array(list(parents))
            self._own = [(keys[order], values[order]) for keys, values in self._own]
        history = np.array([[*last_two(self._prompt.ids), *row][-3:] for row in rows])
        x = self._network.embed(history, PREFIX)[:, -1:]
        tables = self._network.rotary(np.array([self._length]))
        past = _arrays(self._prompt.encoder)
        states, self._own = self._network.write(x, tables, past, self._own)
        self._length += 1
        return self._logprobs(states[:, 0])

    def _logprobs(self, states: mx.array) -> Tensor:
        return torch.log_softmax(_as_torch(self._network.logits(states)), -1)


def _stream(encoder: Any, decoder: Any, states: Any) -> Stream:
    return Stream(tuple(encoder), tuple(decoder), states)


def _array(held: Any) -> mx.array:
    found: mx.array = held
    return found


def _arrays(held: Any) -> Sequence[KeysValues]:
    found: Sequence[KeysValues] = held
    return found


def _as_torch(values: mx.array) -> Tensor:
    return torch.from_numpy(np.array(values))
