"""Serves a `Duostream` network: keeps its streams' keys and values across keystrokes, denoises canvases over them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from infill_engine.cache.streams import StreamCache, cut_in_blocks
from infill_engine.canvas.canvas import Canvas
from infill_engine.models.base import (
    Context,
    ContextUnread,
    Continuation,
    Corruption,
    GoOn,
    ProposedLength,
    Spec,
    unhurried,
)
from infill_engine.models.duostream.continuation import StreamWriter, read_on
from infill_engine.models.duostream.net import (
    BOS,
    EOS,
    LENGTH_BUCKETS,
    MASK,
    MAX_SLOTS,
    MIDDLE_FOLLOWS,
    PREFIX,
    PROMPT_SUFFIX,
    SUFFIX,
    SUFFIX_FOLLOWS,
    Duostream,
    Frames,
    KeysValues,
    Visible,
)
from infill_engine.models.duostream.vocabulary import BytesVocabulary
from infill_engine.models.duostream.weights import load_network
from infill_engine.types import HoleKind

MOST_TOKENS = 448  # of one stream
MOST_SLOTS = 24  # of a canvas: longer ones are seldom right, and take the time of others
MOST_OF_LINE = 32  # tokens of the cursor's line that a prompt repeats
LINE_BLOCK = 16  # a longer line is cut by so many at a time, so that a typed character seldom moves the cut
PART = 128  # tokens encoded at once: between two parts a deadline or the next keystroke can end the reading
FORBIDDEN = -1e9
# Shapes are rounded up to blocks: a CPU's matrix library compiles and keeps a kernel for every shape it meets, which
# with every length as its own shape costs a gigabyte within minutes of typing, and time at every new one.
KEY_BLOCK = 64
SLOT_BLOCK = 16
TOKEN_BLOCK = 32
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
class Side:
    """A stream as the decoder reads it: keys and values padded to whole blocks, and what hides the padding.

    `hidden` [1, 1, 1, P] is an additive mask; `edge` [1, 1, D] the state next to the hole; `length` counts real tokens.
    """

    keys_values: tuple[KeysValues, ...]
    hidden: Tensor
    edge: Tensor
    length: int


@dataclass(frozen=True, slots=True)
class Sides:
    """What `Context.state` holds here. `prompt` is None where there was no time to read it."""

    prefix: Side
    suffix: Side
    prompt: "Prompt | None"


@dataclass(frozen=True, slots=True)
class Prompt:
    """The prefix stream asked to fill in, and its last two tokens."""

    stream: Stream
    last: tuple[int, ...]


class DuostreamFamily:
    """Implements `infill_engine.models.base.ModelFamily` for the embedded default."""

    def __init__(self, network: Duostream, vocabulary: BytesVocabulary, device: str, cached_streams: int = 4) -> None:
        self.network = network
        self.vocabulary = vocabulary
        self.device = device
        self.spec = Spec("duostream", Corruption.MASK, network.config.vocab, MASK, EOS, MOST_SLOTS)
        self._prefixes, self._suffixes, self._prompts = (StreamCache[Stream](cached_streams) for _ in range(3))
        self._breaks = vocabulary.breaks_line()

    @classmethod
    def load(cls, folder: Path, device: str, dtype: torch.dtype) -> "DuostreamFamily":
        """Loads config.json, model.safetensors and tokenizer.json. Raises ModelDamagedError if they do not fit."""
        network = load_network(folder, dtype).to(device)
        network.join()
        return cls(network, BytesVocabulary(folder / "tokenizer.json"), device)

    @torch.inference_mode()
    def encode(self, prefix: str, suffix: str, go_on: GoOn = unhurried) -> Context:
        before = self.vocabulary.encode(prefix.replace("\r\n", "\n")) or [BOS]
        after = self.vocabulary.encode(suffix.replace("\r\n", "\n"))[::-1]
        kept = cut_in_blocks(before, MOST_TOKENS)
        left, left_new = self._encode_stream(kept, PREFIX, go_on, self._prefixes)
        right, right_new = self._no_stream(), 0
        if after:
            right, right_new = self._encode_stream(cut_in_blocks(after, MOST_TOKENS), SUFFIX, go_on, self._suffixes)
        prompt = self._encode_prompt(kept, after[: -PROMPT_SUFFIX - 1 : -1], go_on)
        return Context(
            Sides(self._side(left), self._side(right), prompt), left_new + right_new, len(before) + len(after)
        )

    @torch.inference_mode()
    def propose_lengths(self, context: Context, kind: HoleKind, limit: int) -> list[ProposedLength]:
        edge = self._edge(context.state)
        kinds = torch.tensor([[KINDS.index(kind)]], device=self.device)
        logprobs = torch.log_softmax(self.network.length_logits(edge, kinds)[0, 0].float(), -1).tolist()
        ranked = sorted(zip(LENGTH_BUCKETS, logprobs, strict=True), key=lambda pair: -pair[1])
        return [ProposedLength(slots, logprob) for slots, logprob in ranked[:limit]]

    @torch.inference_mode()
    def read_on(self, context: Context, partial_word: str, right: str, limit: int, go_on: GoOn) -> list[Continuation]:
        prompt: Prompt | None = context.state.prompt
        if prompt is None:
            return []
        writer = StreamWriter(self.network, prompt.stream.encoder, prompt.stream.states[:, -1:], prompt.last, limit)
        return read_on(writer, self.vocabulary, partial_word.encode(), right, limit, go_on)

    @torch.inference_mode()
    def denoise(self, context: Context, kind: HoleKind, canvas: Canvas, wanted: NDArray[np.int64]) -> Tensor:
        sides: Sides = context.state
        padded = _padded(canvas)
        index = self._tensor(padded.index)
        rotary = self.network.rotary
        # Where nothing stands to the right, the frame is that of a suffix of one token: training had one to hide.
        suffix_end = max(sides.suffix.length, 1) - 1 + MAX_SLOTS
        frames = Frames(rotary(index), rotary(sides.prefix.length + index), rotary(suffix_end - index))
        kinds = torch.full((1, padded.slots), KINDS.index(kind), device=self.device)
        edge = self._edge(sides).expand(1, padded.slots, -1)
        x = self.network.canvas_input(self._tensor(padded.ids), self._tensor(padded.left), kinds, edge)
        row = self._tensor(padded.row)[0]
        apart = torch.where(row[:, None] == row, 0.0, FORBIDDEN).to(x.dtype)[None, None]
        visible = Visible(sides.prefix.hidden, sides.suffix.hidden, apart)
        states = self.network.decode(x, frames, sides.prefix.keys_values, sides.suffix.keys_values, visible)
        chosen = np.pad(wanted, (0, -len(wanted) % SLOT_BLOCK), mode="edge")
        return self.network.logits(states[0, self._tensor(chosen)[0]])[: len(wanted)].float()

    def _encode_prompt(self, before: NDArray[np.int64], after: Sequence[int], go_on: GoOn) -> Prompt | None:
        """The prompt for a hole between these tokens, both in text order; None where there is no time for it."""
        breaks = np.flatnonzero(np.isin(before, self._breaks))
        line = int(breaks[-1]) + 1 if len(breaks) else 0
        line += -(-max(0, len(before) - line - MOST_OF_LINE) // LINE_BLOCK) * LINE_BLOCK
        ids = np.array([*before[:line], SUFFIX_FOLLOWS, *after, MIDDLE_FOLLOWS, *before[line:]], dtype=np.int64)
        try:
            stream, _ = self._encode_stream(ids, PREFIX, go_on, self._prompts, self._prefixes)
        except ContextUnread:
            return None
        return Prompt(stream, tuple(ids[-2:].tolist()))

    def _encode_stream(
        self,
        ids: NDArray[np.int64],
        direction: int,
        go_on: GoOn,
        cache: StreamCache[Stream],
        *others: StreamCache[Stream],
    ) -> tuple[Stream, int]:
        """The stream of `ids` [T] in stream order, and how many of its tokens had to be computed.

        It is kept in `cache`; what it has in common with a stream there or in the others is not computed again.
        """
        cached, shared = max((kept.nearest(ids) for kept in (cache, *others)), key=lambda found: found[1])
        if cached is not None and shared == len(ids):
            return _cut(cached, shared), 0
        stream = _cut(cached, shared) if cached is not None and shared else None
        read = shared
        while read < len(ids):
            part = min(PART, len(ids) - read)
            if not go_on(part):
                if stream is not None and read > shared:
                    cache.put(ids[:read], stream)
                raise ContextUnread
            stream = self._extended(stream, ids, read, read + part, direction)
            read += part
        assert stream is not None
        cache.put(ids, stream)
        return stream, len(ids) - shared

    def _extended(self, past: Stream | None, ids: NDArray[np.int64], start: int, end: int, direction: int) -> Stream:
        """The stream of `ids[:end]` from `past`, that of `ids[:start]`."""
        new = end - start
        padding = _rounded_up(new) - new
        # The n-gram embedding looks two tokens back. Padding comes last, where a causal stream cannot see it.
        tail = self._tensor(np.pad(ids[max(0, start - 2) : end], (0, padding)))
        embedded = self.network.embed(tail, torch.tensor([direction], device=self.device))
        tables = self.network.rotary(torch.arange(start, end + padding, device=self.device))
        states, layers = self.network.encode(
            embedded[:, tail.shape[1] - new - padding :], tables, past.encoder if past else ()
        )
        encoder = [_first(keys_values, end) for keys_values in layers]
        decoder = [_first(keys_values, new) for keys_values in self.network.context_kv(states, tables)]
        states = states[:, :new]
        if past:
            decoder = [_joined(old, added) for old, added in zip(past.decoder, decoder, strict=True)]
            states = torch.cat([past.states, states], 1)
        return Stream(tuple(encoder), tuple(decoder), states)

    def _edge(self, sides: Sides) -> Tensor:
        return torch.cat([sides.prefix.edge, sides.suffix.edge], -1)

    def _side(self, stream: Stream) -> Side:
        length = stream.states.shape[1]
        padding = -length % KEY_BLOCK if length else KEY_BLOCK
        hidden = torch.zeros(1, 1, 1, length + padding, dtype=stream.states.dtype, device=self.device)
        hidden[..., length:] = FORBIDDEN
        keys_values = tuple(
            (pad(key, (0, 0, 0, padding)), pad(value, (0, 0, 0, padding))) for key, value in stream.decoder
        )
        edge = stream.states[:, -1:] if length else stream.states.new_zeros(1, 1, stream.states.shape[-1])
        return Side(keys_values, hidden, edge, length)

    def _no_stream(self) -> Stream:
        config, weight = self.network.config, self.network.tokens.weight
        nothing = weight.new_empty(1, config.heads, 0, config.head_dim)
        return Stream((), ((nothing, nothing),) * config.decoder_layers, weight.new_empty(1, 0, config.dim))

    def _tensor(self, values: NDArray[np.int64]) -> Tensor:
        """[n] -> [1, n] on the device."""
        return torch.from_numpy(np.ascontiguousarray(values)).to(self.device).unsqueeze(0)


def _padded(canvas: Canvas) -> Canvas:
    """The canvas with masked slots of no row behind it, up to a whole block."""
    padding = -canvas.slots % SLOT_BLOCK
    return Canvas(
        ids=np.pad(canvas.ids, (0, padding), constant_values=MASK),
        state=canvas.state,
        logprob=canvas.logprob,
        row=np.pad(canvas.row, (0, padding), constant_values=canvas.rows),
        index=np.pad(canvas.index, (0, padding)),
        lengths=np.append(canvas.lengths, 1),
    )


def _rounded_up(tokens: int) -> int:
    """The number of tokens a stream is extended by: few different ones, and little more than asked for."""
    return 1 << (tokens - 1).bit_length() if tokens <= TOKEN_BLOCK else -(-tokens // TOKEN_BLOCK) * TOKEN_BLOCK


def _cut(stream: Stream, length: int) -> Stream:
    """The first `length` tokens of a stream."""
    if stream.states.shape[1] == length:
        return stream
    return Stream(
        tuple(_first(keys_values, length) for keys_values in stream.encoder),
        tuple(_first(keys_values, length) for keys_values in stream.decoder),
        stream.states[:, :length],
    )


def _first(keys_values: KeysValues, length: int) -> KeysValues:
    return keys_values[0][:, :, :length], keys_values[1][:, :, :length]


def _joined(old: KeysValues, new: KeysValues) -> KeysValues:
    return torch.cat([old[0], new[0]], 2), torch.cat([old[1], new[1]], 2)
