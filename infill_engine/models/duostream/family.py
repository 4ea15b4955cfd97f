"""Serves a `Duostream` network: keeps its streams' keys and values across keystrokes, denoises canvases over them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from infill_engine.cache.streams import StreamCache
from infill_engine.canvas.canvas import Canvas
from infill_engine.models.base import Context, Corruption, ProposedLength, Spec
from infill_engine.models.duostream.net import (
    BOS,
    EOS,
    LENGTH_BUCKETS,
    MASK,
    MAX_SLOTS,
    PREFIX,
    SUFFIX,
    Duostream,
    Frames,
    KeysValues,
    Visible,
)
from infill_engine.models.duostream.vocabulary import BytesVocabulary
from infill_engine.models.duostream.weights import load_network
from infill_engine.types import HoleKind

MOST_TOKENS = 448  # of one stream; beyond it the far end is cut, in whole blocks so that the cut seldom moves
BLOCK = 64
FORBIDDEN = -1e9
KINDS = tuple(HoleKind)


@dataclass(frozen=True, slots=True)
class Stream:
    """One encoded stream of T tokens: per encoder layer and per decoder layer its keys and values, and final states.

    `states` [1, T, D].
    """

    encoder: tuple[KeysValues, ...]
    decoder: tuple[KeysValues, ...]
    states: Tensor


@dataclass(frozen=True, slots=True)
class Sides:
    """What `Context.state` holds here; the suffix is None where nothing stands right of the hole."""

    prefix: Stream
    suffix: Stream | None


class DuostreamFamily:
    """Implements `infill_engine.models.base.ModelFamily` for the embedded default."""

    def __init__(self, network: Duostream, vocabulary: BytesVocabulary, device: str, cached_streams: int = 4) -> None:
        self.network = network
        self.vocabulary = vocabulary
        self.device = device
        self.spec = Spec("duostream", Corruption.MASK, network.config.vocab, MASK, EOS, MAX_SLOTS)
        self._caches = {direction: StreamCache[Stream](cached_streams) for direction in (PREFIX, SUFFIX)}

    @classmethod
    def load(cls, folder: Path, device: str, dtype: torch.dtype) -> "DuostreamFamily":
        """Loads config.json, model.safetensors and tokenizer.json. Raises ModelDamagedError if they do not fit."""
        network = load_network(folder).to(device=device, dtype=dtype)
        return cls(network, BytesVocabulary(folder / "tokenizer.json"), device)

    @torch.inference_mode()
    def encode(self, prefix: str, suffix: str) -> Context:
        before = self.vocabulary.encode(prefix.replace("\r\n", "\n")) or [BOS]
        after = self.vocabulary.encode(suffix.replace("\r\n", "\n"))[::-1]
        left, left_new = self._encode_stream(_within_limit(before), PREFIX)
        right, right_new = self._encode_stream(_within_limit(after), SUFFIX) if after else (None, 0)
        return Context(Sides(left, right), left_new + right_new, len(before) + len(after))

    @torch.inference_mode()
    def propose_lengths(self, context: Context, kind: HoleKind, limit: int) -> list[ProposedLength]:
        edge = self._edge(context.state)
        kinds = torch.tensor([[KINDS.index(kind)]], device=self.device)
        logprobs = torch.log_softmax(self.network.length_logits(edge, kinds)[0, 0].float(), -1).tolist()
        ranked = sorted(zip(LENGTH_BUCKETS, logprobs, strict=True), key=lambda pair: -pair[1])
        return [ProposedLength(slots, logprob) for slots, logprob in ranked[:limit]]

    @torch.inference_mode()
    def denoise(self, context: Context, kind: HoleKind, canvas: Canvas, wanted: NDArray[np.int64]) -> Tensor:
        sides: Sides = context.state
        index = self._tensor(canvas.index)
        rotary = self.network.rotary
        prefix_length = sides.prefix.states.shape[1]
        suffix_length = 1 if sides.suffix is None else sides.suffix.states.shape[1]
        frames = Frames(rotary(index), rotary(prefix_length + index), rotary(suffix_length - 1 + MAX_SLOTS - index))
        edge = self._edge(sides).expand(1, canvas.slots, -1)
        kinds = torch.full((1, canvas.slots), KINDS.index(kind), device=self.device)
        x = self.network.canvas_input(self._tensor(canvas.ids), self._tensor(canvas.left), kinds, edge)
        visible = Visible(canvas=self._rows_apart(canvas, x.dtype))
        suffix = self._no_keys(x.dtype) if sides.suffix is None else sides.suffix.decoder
        states = self.network.decode(x, frames, sides.prefix.decoder, suffix, visible)
        return self.network.logits(states[0, self._tensor(wanted)[0]]).float()

    def _encode_stream(self, ids: NDArray[np.int64], direction: int) -> tuple[Stream, int]:
        """The stream of `ids` [T] in stream order, and how many of its tokens had to be computed."""
        cached, shared = self._caches[direction].nearest(ids)
        if cached is not None and shared == len(ids):
            return _cut(cached, shared), 0
        past = _cut(cached, shared) if cached is not None and shared else None
        # The n-gram embedding looks two tokens back.
        tail = self._tensor(ids[max(0, shared - 2) :])
        embedded = self.network.embed(tail, torch.tensor([direction], device=self.device))
        x = embedded[:, tail.shape[1] - (len(ids) - shared) :]
        tables = self.network.rotary(torch.arange(shared, len(ids), device=self.device))
        encoder = []
        for number, layer in enumerate(self.network.encoder):
            x, keys_values = layer(x, tables, past.encoder[number] if past else None)
            encoder.append(keys_values)
        states = self.network.encoder_norm(x)
        decoder = self.network.context_kv(states, tables)
        if past:
            decoder = [_joined(old, new) for old, new in zip(past.decoder, decoder, strict=True)]
            states = torch.cat([past.states, states], 1)
        stream = Stream(tuple(encoder), tuple(decoder), states)
        self._caches[direction].put(ids, stream)
        return stream, len(ids) - shared

    def _edge(self, sides: Sides) -> Tensor:
        left = sides.prefix.states[:, -1:]
        right = torch.zeros_like(left) if sides.suffix is None else sides.suffix.states[:, -1:]
        return torch.cat([left, right], -1)

    def _rows_apart(self, canvas: Canvas, dtype: torch.dtype) -> Tensor | None:
        if canvas.rows == 1:
            return None
        row = self._tensor(canvas.row)[0]
        return torch.where(row[:, None] == row, 0.0, FORBIDDEN).to(dtype)[None, None]

    def _no_keys(self, dtype: torch.dtype) -> tuple[KeysValues, ...]:
        config = self.network.config
        empty = torch.empty(1, config.heads, 0, config.head_dim, dtype=dtype, device=self.device)
        return ((empty, empty),) * config.decoder_layers

    def _tensor(self, values: NDArray[np.int64]) -> Tensor:
        """[n] -> [1, n] on the device."""
        return torch.from_numpy(np.ascontiguousarray(values)).to(self.device).unsqueeze(0)


def _within_limit(ids: list[int]) -> NDArray[np.int64]:
    excess = max(0, len(ids) - MOST_TOKENS)
    return np.array(ids[-(-excess // BLOCK) * BLOCK :], dtype=np.int64)


def _cut(stream: Stream, length: int) -> Stream:
    if stream.states.shape[1] == length:
        return stream
    return Stream(
        tuple((key[:, :, :length], value[:, :, :length]) for key, value in stream.encoder),
        tuple((key[:, :, :length], value[:, :, :length]) for key, value in stream.decoder),
        stream.states[:, :length],
    )


def _joined(old: KeysValues, new: KeysValues) -> KeysValues:
    return torch.cat([old[0], new[0]], 2), torch.cat([old[1], new[1]], 2)
