"""Serves a `Duostream` network: keeps its streams' keys and values across keystrokes, denoises canvases over them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from cachetools import LRUCache
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from infill_engine.cache.streams import StreamCache, cut_in_blocks, shared_length
from infill_engine.canvas.canvas import Canvas
from infill_engine.context.ngrams import LONGEST, Ngrams
from infill_engine.lines import with_breaks_first
from infill_engine.models.base import (
    Context,
    ContextUnread,
    Continuation,
    Corruption,
    GoOn,
    Ints,
    ProposedLength,
    Spec,
    unhurried,
)
from infill_engine.models.duostream.continuation import Counted, StreamWriter, Writer, ends_at, last_two, read_on, roomy
from infill_engine.models.duostream.judging import Tree, logprobs_of
from infill_engine.models.duostream.narrow import fastest_write, is_narrow
from infill_engine.models.duostream.net import (
    BOS,
    EOS,
    LENGTH_BUCKETS,
    MASK,
    MAX_SLOTS,
    PAD,
    PREFIX,
    PROMPT_ASIDE,
    PROMPT_LINE,
    SUFFIX,
    Duostream,
    Frames,
    KeysValues,
    Visible,
    rotate,
)
from infill_engine.models.duostream.pace import pace_of
from infill_engine.models.duostream.vocabulary import BytesVocabulary
from infill_engine.settings import USUAL_WINDOW
from infill_engine.types import HoleKind

MOST_TOKENS = 448  # of one stream
MOST_SLOTS = 24  # of a canvas: longer ones are seldom right, and take the time of others
MOST_OF_LINE = 32  # tokens before the cursor that a prompt reads once more
MOST_ABOVE = 192  # tokens above that line which it sees: the keys of all rows' past are as much to read as the weights
LINE_BLOCK = 16  # more are cut by so many at a time, so that a typed character seldom moves the cut
CACHED_STREAMS = 4  # of each direction
CACHED_PROMPTS = 2
CACHED_LINES = 4096  # and their tokens
PART = 128  # tokens encoded at once: between two parts a deadline or the next keystroke can end the reading
FORBIDDEN = -1e9
# Shapes are rounded up to blocks where a matrix library compiles and keeps a kernel for every shape it meets, which
# with every length as its own shape costs a gigabyte within minutes of typing, and time at every new one.
KEY_BLOCK = 64
SLOT_BLOCK = 16
TOKEN_BLOCK = 32
FEW = 16  # tokens, at most, that are written rather than encoded where that is done in numpy
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
    """A stream as the decoder reads it: its keys and values, perhaps padded to blocks, and what hides the padding.

    `hidden` [1, 1, 1, P] is an additive mask, None where there is no padding; `edge` [1, 1, D] the state next to the
    hole; `length` counts real tokens.
    """

    keys_values: tuple[KeysValues, ...]
    hidden: Tensor | None
    edge: Tensor
    length: int


@dataclass(frozen=True, slots=True)
class Sides:
    """What `Context.state` holds here. A prompt is made of the prefix's `stream`, that of `before`, and of `after`.

    `after` are the first tokens right of the hole; both are in text order.
    """

    prefix: Side
    suffix: Side
    stream: Stream
    before: NDArray[np.int64]
    after: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompted stream of T tokens: keys and values [1, H, A + T, hd] per encoder layer, behind A shown aside.

    `states` [1, n, D] are those of the tokens read once more; `ids` [T].
    """

    encoder: tuple[KeysValues, ...]
    states: Tensor
    ids: NDArray[np.int64]


class DuostreamFamily:
    """Implements `infill_engine.models.base.ModelFamily` for the embedded default.

    `project` counts the text of the project that it was adapted to, if it was.
    """

    def __init__(
        self, network: Duostream, vocabulary: BytesVocabulary, device: str, project: Ngrams | None = None
    ) -> None:
        self.network = network
        self.vocabulary = vocabulary
        self.device = device
        self._project = project
        self._write = fastest_write(network)
        self._in_blocks = not is_narrow(network)  # kernels for float32 and int8 on a CPU serve every shape
        pace = pace_of(network.precision) if device == "cpu" else ""
        window = replace(USUAL_WINDOW, surroundings=True)
        self.spec = Spec(
            "duostream", Corruption.MASK, network.config.vocab, MASK, EOS, MOST_SLOTS, window=window, pace=pace
        )
        self._caches = {direction: StreamCache[Stream](CACHED_STREAMS) for direction in (PREFIX, SUFFIX)}
        self._prompts: LRUCache[tuple[int, tuple[int, ...]], Prompt] = LRUCache(CACHED_PROMPTS)
        self._asides: LRUCache[tuple[int, ...], list[KeysValues]] = LRUCache(CACHED_PROMPTS)
        self._lines: LRUCache[str, Ints] = LRUCache(CACHED_LINES)
        self._breaks = vocabulary.breaks_line()

    @torch.inference_mode()
    def encode(self, prefix: str, suffix: str, go_on: GoOn = unhurried) -> Context:
        before = self.vocabulary.encode(prefix.replace("\r\n", "\n")) or [BOS]
        after = self.vocabulary.encode(suffix.replace("\r\n", "\n"))[::-1]
        kept = cut_in_blocks(before, MOST_TOKENS)
        left, left_new = self._encode_stream(kept, PREFIX, go_on)
        right, right_new = self._no_stream(), 0
        if after:
            right, right_new = self._encode_stream(cut_in_blocks(after, MOST_TOKENS), SUFFIX, go_on)
        shown = tuple(after[: -PROMPT_ASIDE - 1 : -1])
        sides = Sides(self._side(left), self._side(right), left, kept, shown)
        return Context(sides, left_new + right_new, len(before) + len(after))

    @torch.inference_mode()
    def propose_lengths(self, context: Context, kind: HoleKind, limit: int) -> list[ProposedLength]:
        edge = self._edge(context.state)
        kinds = torch.tensor([[KINDS.index(kind)]], device=self.device)
        return likeliest(self.network.length_logits(edge, kinds)[0, 0], limit)

    @torch.inference_mode()
    def prompt(self, context: Context, go_on: GoOn) -> Prompt:
        sides: Sides = context.state
        breaks = np.flatnonzero(np.isin(sides.before, self._breaks))
        line = int(breaks[-1]) if len(breaks) else 0
        line += -(-max(0, len(sides.before) - line - MOST_OF_LINE) // LINE_BLOCK) * LINE_BLOCK
        known = self._prompts.get((line, sides.after))
        shared = shared_length(known.ids, sides.before) if known else 0
        known = _cut_prompt(known, line, shared) if known and shared > line else None
        new = len(sides.before) - (len(known.ids) if known else line)
        if known is None and sides.after not in self._asides:
            new += 1 + len(sides.after)
        if new:
            if not go_on(new):
                raise ContextUnread
            known = self._prompted(sides, line, known)
        assert known is not None
        self._prompts[line, sides.after] = known
        return known

    @torch.inference_mode()
    def read_on(self, prompt: Prompt, partial_word: str, right: str, limit: int, go_on: GoOn) -> list[Continuation]:
        writer = self._counted(self._writer(prompt, limit), prompt)
        return read_on(writer, self.vocabulary, partial_word.encode(), right, limit, go_on)

    def count(self, around: tuple[str, str], go_on: GoOn) -> Ngrams:
        sides = [with_breaks_first(text.replace("\r\n", "\n")) for text in around]
        wanted = dict.fromkeys(line for lines in sides for line in lines)
        known = {line: self._lines[line] for line in wanted if line in self._lines}
        new = [line for line in wanted if line not in known]
        if not go_on(len(new)):
            raise ContextUnread
        for line in new:
            known[line] = self._lines[line] = np.array(self.vocabulary.encode(line), dtype=np.int64)
        return Ngrams([np.concatenate([known[line] for line in lines]) for lines in sides])

    @torch.inference_mode()
    def judge(
        self,
        prompt: Prompt,
        partial_word: str,
        right: str,
        texts: Sequence[str],
        near: Ngrams,
        project: Ngrams | None,
        go_on: GoOn,
    ) -> list[float]:
        if not texts:
            return []
        tree = Tree.of([self.vocabulary.encode(partial_word + text) for text in texts])
        if not go_on(len(tree.tokens)):
            raise ContextUnread
        farther = project or self._project
        counts = [near] if farther is None else [farther, near]
        ends = ends_at(self.vocabulary, right)
        return logprobs_of(tree, self._branched(prompt, tree), ends, prompt.ids.tolist(), counts)

    @torch.inference_mode()
    def denoise(self, context: Context, kind: HoleKind, canvas: Canvas, wanted: NDArray[np.int64]) -> Tensor:
        sides: Sides = context.state
        padded = _padded(canvas) if self._in_blocks else canvas
        index = self._tensor(padded.index)
        rotary = self.network.rotary
        # Where nothing stands to the right, the frame is that of a suffix of one token: training had one to hide.
        suffix_end = max(sides.suffix.length, 1) - 1 + MAX_SLOTS
        frames = Frames(rotary(index), rotary(sides.prefix.length + index), rotary(suffix_end - index))
        kinds = torch.full((1, padded.slots), KINDS.index(kind), device=self.device)
        x = self.network.canvas_input(self._tensor(padded.ids), self._tensor(padded.left), kinds, self._edge(sides))
        row = self._tensor(padded.row)[0]
        apart = torch.where(row[:, None] == row, 0.0, FORBIDDEN).to(x.dtype)[None, None]
        visible = Visible(sides.prefix.hidden, sides.suffix.hidden, apart)
        states = self.network.decode(x, frames, sides.prefix.keys_values, sides.suffix.keys_values, visible)
        chosen = np.pad(wanted, (0, -len(wanted) % SLOT_BLOCK if self._in_blocks else 0), mode="edge")
        return self.network.logits(states[0, self._tensor(chosen)[0]])[: len(wanted)].float()

    def _writer(self, prompt: Prompt, rows: int) -> Writer:
        return StreamWriter(self.network, self._write, prompt.encoder, prompt.states[:, -1:], prompt.ids, rows)

    def _counted(self, writer: Writer, prompt: Prompt) -> Writer:
        return writer if self._project is None else Counted(writer, self._project, prompt.ids[-LONGEST:].tolist())

    def _prompted(self, sides: Sides, line: int, known: Prompt | None = None) -> Prompt:
        """The prefix's stream read once more from token `line` on, with what is right of the hole shown aside.

        `known` is what was read of it before.
        """
        ids = sides.before
        if known is None:
            above = (_last(_first(keys_values, line), MOST_ABOVE) for keys_values in sides.stream.encoder)
            aside = self._aside(sides.after, line + PROMPT_LINE)
            past = [self._joined(old, shown) for old, shown in zip(above, aside, strict=True)]
            states, encoder = self._read(ids, line, PREFIX, past)
            return Prompt(tuple(encoder), states[:, : len(ids) - line], ids)
        new, encoder = self._read(ids, len(known.ids), PREFIX, known.encoder)
        return Prompt(tuple(encoder), self._cat([known.states, new[:, : len(ids) - len(known.ids)]], 1), ids)

    def _aside(self, after: tuple[int, ...], offset: int) -> list[KeysValues]:
        """Keys and values of what a prompt shows aside, from place `offset` on.

        It sees nothing but itself, so it is read once, and elsewhere only its keys are rotated on.
        """
        known = self._asides.get(after)
        if known is None:
            _, known = self._read(np.array([MASK, *after]), 0, PREFIX)
            self._asides[after] = known
        return [(self._moved(keys, offset), values) for keys, values in known]

    def _branched(self, prompt: Prompt, tree: Tree) -> NDArray[np.float32]:
        """Log-probabilities [1 + n, V] of what follows the prompt, and each token of a tree."""
        last = prompt.states[0, -1:]
        return self._logprobs(self._cat([last, self._states_of(prompt, tree)], 0) if len(tree.tokens) else last)

    def _states_of(self, prompt: Prompt, tree: Tree) -> Tensor:
        """Stream states [n, D] of the tokens of a tree behind the prompt."""
        new = len(tree.tokens)
        padding = self._padding(new)
        seen = np.pad(tree.seen(), (0, padding))
        histories = np.array([*tree.histories(last_two(prompt.ids), 3), *[[PAD] * 3] * padding])
        direction = torch.full((new + padding,), PREFIX, device=self.device)
        x = self.network.embed(self._tensor(histories)[0], direction)[:, -1].unsqueeze(0)
        positions = np.pad(len(prompt.ids) + tree.depths, (0, padding))
        states, _ = self._written(x, positions, seen, prompt.encoder)
        return states[0, :new]

    def _logprobs(self, states: Tensor) -> NDArray[np.float32]:
        """Of every token [n, V], by stream states [n, D]."""
        return np.asarray(torch.log_softmax(self.network.logits(states).float(), -1).cpu())

    def _encode_stream(self, ids: NDArray[np.int64], direction: int, go_on: GoOn) -> tuple[Stream, int]:
        """The stream of `ids` [T] in stream order, and how many of its tokens had to be computed."""
        cached, shared = self._caches[direction].nearest(ids)
        if cached is not None and shared == len(ids):
            return _cut(cached, shared), 0
        stream = _cut(cached, shared) if cached is not None and shared else None
        read = shared
        while read < len(ids):
            part = min(PART, len(ids) - read)
            if not go_on(part):
                if stream is not None and read > shared:
                    self._caches[direction].put(ids[:read], stream)
                raise ContextUnread
            stream = self._extended(stream, ids, read, read + part, direction)
            read += part
        assert stream is not None
        self._caches[direction].put(ids, stream)
        return stream, len(ids) - shared

    def _extended(self, past: Stream | None, ids: NDArray[np.int64], start: int, end: int, direction: int) -> Stream:
        """The stream of `ids[:end]` from `past`, that of `ids[:start]`."""
        states, encoder = self._read(ids[:end], start, direction, past.encoder if past else ())
        decoder = [_first(keys_values, end - start) for keys_values in self._context_kv(states, start)]
        states = states[:, : end - start]
        if past:
            decoder = [self._joined(old, added) for old, added in zip(past.decoder, decoder, strict=True)]
            states = self._cat([past.states, states], 1)
        return Stream(tuple(encoder), tuple(decoder), states)

    def _read(
        self, ids: NDArray[np.int64], start: int, direction: int, past: Sequence[KeysValues] = ()
    ) -> tuple[Tensor, list[KeysValues]]:
        """The encoder over `ids[start:]` after `past`.

        States [1, n, D], behind which there may be some of padding, and the keys and values of all, `past` included.
        """
        new = len(ids) - start
        padding = self._padding(new)
        # The n-gram embedding looks two tokens back. Padding comes last, where a causal stream cannot see it.
        tail = self._tensor(np.pad(ids[max(0, start - 2) :], (0, padding)))
        x = self.network.embed(tail, torch.tensor([direction], device=self.device))[:, -(new + padding) :]
        positions = np.arange(start, start + new + padding)
        if new <= FEW and not self._in_blocks:
            states, layers = self._written(x, positions, np.tri(new + padding, dtype=bool), past)
        else:
            states, layers = self.network.encode(x, self.network.rotary(self._tensor(positions)[0]), past)
        return states, [_first(keys_values, keys_values[0].shape[2] - padding) for keys_values in layers]

    def _written(
        self, x: Tensor, positions: Ints, seen: NDArray[np.bool_], past: Sequence[KeysValues]
    ) -> tuple[Tensor, list[KeysValues]]:
        """Stream states of embedded tokens x [1, T, D], and the keys and values of all, `past` included.

        A token sees `past`, and of these tokens those that `seen` [T, T] says.
        """
        nothing = x.new_empty(1, self.network.config.heads, 0, self.network.config.head_dim)
        past = past or [(nothing, nothing)] * self.network.config.encoder_layers
        new, known = len(seen), past[0][0].shape[2]
        room = [(roomy(keys, known + new), roomy(values, known + new)) for keys, values in past]
        visible = self._tensor(np.pad(seen, ((0, 0), (known, 0)), constant_values=True))
        hidden = torch.where(visible, 0.0, FORBIDDEN).to(x.dtype)[None]
        return self._write(x, self.network.rotary(self._tensor(positions)[0]), room, known, hidden), room

    def _moved(self, keys: Tensor, by: int) -> Tensor:
        """Keys [1, H, T, hd] that stand `by` places further on."""
        return rotate(keys, self.network.rotary(torch.tensor([by], device=self.device)))

    def _context_kv(self, states: Tensor, start: int) -> list[KeysValues]:
        """What each decoder layer reads of states [1, n, D] from number `start` on."""
        positions = torch.arange(start, start + states.shape[1], device=self.device)
        return self.network.context_kv(states, self.network.rotary(positions))

    def _joined(self, old: KeysValues, new: KeysValues) -> KeysValues:
        return self._cat([old[0], new[0]], 2), self._cat([old[1], new[1]], 2)

    def _cat(self, parts: list[Tensor], dim: int) -> Tensor:
        return torch.cat(parts, dim)

    def _edge(self, sides: Sides) -> Tensor:
        return torch.cat([sides.prefix.edge, sides.suffix.edge], -1)

    def _padding(self, tokens: int) -> int:
        """How many more tokens a stream is extended by: few different numbers come of it, little above `tokens`."""
        if not self._in_blocks:
            return 0
        block = 1 << (tokens - 1).bit_length() if tokens <= TOKEN_BLOCK else TOKEN_BLOCK
        return -tokens % block

    def _side(self, stream: Stream) -> Side:
        length = stream.states.shape[1]
        shown = max(length, 1)  # a softmax over nothing has no sum
        padding = shown - length + (-shown % KEY_BLOCK if self._in_blocks else 0)
        keys_values, hidden = stream.decoder, None
        if padding:
            hidden = torch.zeros(1, 1, 1, length + padding, dtype=stream.states.dtype, device=self.device)
            hidden[..., length:] = FORBIDDEN
            keys_values = tuple(
                (pad(key, (0, 0, 0, padding)), pad(value, (0, 0, 0, padding))) for key, value in keys_values
            )
        edge = stream.states[:, -1:] if length else stream.states.new_zeros(1, 1, stream.states.shape[-1])
        return Side(keys_values, hidden, edge, length)

    def _no_stream(self) -> Stream:
        config, weight = self.network.config, self.network.smear
        nothing = weight.new_empty(1, config.heads, 0, config.head_dim)
        return Stream((), ((nothing, nothing),) * config.decoder_layers, weight.new_empty(1, 0, config.dim))

    def _tensor(self, values: NDArray[np.generic]) -> Tensor:
        """[n] -> [1, n] on the device."""
        return torch.from_numpy(np.ascontiguousarray(values)).to(self.device).unsqueeze(0)


def likeliest(logits: Tensor, limit: int) -> list[ProposedLength]:
    """The most probable lengths by their logits [LENGTH_BUCKETS], of those that a canvas has room for."""
    logprobs = torch.log_softmax(logits.float(), -1).tolist()
    found = [ProposedLength(*pair) for pair in zip(LENGTH_BUCKETS, logprobs, strict=True) if pair[0] <= MOST_SLOTS]
    return sorted(found, key=lambda length: -length.logprob)[:limit]


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


def _cut(stream: Stream, length: int) -> Stream:
    """The first `length` tokens of a stream."""
    if stream.states.shape[1] == length:
        return stream
    return Stream(
        tuple(_first(keys_values, length) for keys_values in stream.encoder),
        tuple(_first(keys_values, length) for keys_values in stream.decoder),
        stream.states[:, :length],
    )


def _cut_prompt(prompt: Prompt, line: int, length: int) -> Prompt:
    """The first `length` tokens of a prompt that reads from token `line` on once more."""
    excess = len(prompt.ids) - length
    kept = prompt.encoder[0][0].shape[2] - excess
    encoder = tuple(_first(keys_values, kept) for keys_values in prompt.encoder)
    return Prompt(encoder, prompt.states[:, : length - line], prompt.ids[:length])


def _first(keys_values: KeysValues, length: int) -> KeysValues:
    return keys_values[0][:, :, :length], keys_values[1][:, :, :length]


def _last(keys_values: KeysValues, length: int) -> KeysValues:
    return keys_values[0][:, :, -length:], keys_values[1][:, :, -length:]
