"""Reads the prefix stream on, one token after the other: how the line left of the hole would go on by itself.

The stream is a language model that sees nothing of the suffix. What it writes is a draft for the canvas decoder, which
does. All rows are queries at one position, side by side, so the keys of the prefix are read once for all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from infill_engine.models.base import Continuation, GoOn, Vocabulary
from infill_engine.models.duostream.net import (
    PREFIX,
    Duostream,
    EncoderLayer,
    KeysValues,
    Tables,
    merge_heads,
    rotate,
)

MOST_TOKENS = 16
LEAST_LOGPROB = -9.0  # of a whole row: it will hardly be what the user wants, and its steps are better spent
FORBIDDEN = -1e9
ROUNDED = 64  # positions to which the keys are padded, so that few shapes occur


@dataclass(slots=True)
class _Row:
    """What one row has written. `start` are the bytes that its next tokens must begin with."""

    start: bytes
    tokens: list[int]
    logprobs: list[float]
    ended: bool = False
    hopeless: bool = False


class Writer(Protocol):
    """Runs the encoder over one more token for each row. A row sees the prefix and what it has written itself."""

    def first(self) -> Tensor:
        """Log-probabilities [1, V] of what follows the prefix."""
        ...

    def after(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """Log-probabilities [R, V] of what follows the tokens of each row, which are one more than the last time."""
        ...


def read_on(writer: Writer, vocabulary: Vocabulary, start: bytes, rows: int, go_on: GoOn) -> list[Continuation]:
    """At most `rows` ways to end the line, each from another first token, the most probable of those first.

    `start` is the beginning of the word that is to be completed. `go_on` is asked before every step; rows that have not
    reached the line's end by then are left out.
    """
    first = writer.first()
    choose = _Choice(vocabulary, first.shape[1], first.device)
    written = [_Row(start, [], []) for _ in range(rows)]
    choose.first(first, written)
    while any(not row.ended for row in written) and len(written[0].tokens) < MOST_TOKENS and go_on(rows):
        choose.next(writer.after([row.tokens for row in written]), written)
    return [
        Continuation(tuple(row.tokens[: len(row.logprobs) - 1]), tuple(row.logprobs))
        for row in written
        if row.ended and not row.hopeless
    ]


class _Choice:
    """Which token each row takes."""

    def __init__(self, vocabulary: Vocabulary, size: int, device: torch.device) -> None:
        self._vocabulary = vocabulary
        self._breaks = frozenset(vocabulary.breaks_line())
        self._never = torch.zeros(size, device=device)
        self._never[list(vocabulary.never())] = FORBIDDEN
        self._never_at_first = self._never.clone()
        self._never_at_first[list(self._breaks)] = FORBIDDEN  # an empty text is no continuation

    def first(self, logprobs: Tensor, rows: list[_Row]) -> None:
        """Another token for each row, from log-probabilities [1, V]."""
        allowed = self._continuing(logprobs[0] + self._never_at_first, rows[0].start)
        best = allowed.topk(len(rows))
        for row, token, logprob in zip(rows, best.indices.tolist(), best.values.tolist(), strict=True):
            self._take(row, token, logprob)

    def next(self, logprobs: Tensor, rows: list[_Row]) -> None:
        """The best token for each row, from log-probabilities [R, V]."""
        allowed = logprobs + self._never
        for number, row in enumerate(rows):
            if row.start:
                allowed[number] = self._continuing(allowed[number], row.start)
        best = allowed.max(-1)
        for row, token, logprob in zip(rows, best.indices.tolist(), best.values.tolist(), strict=True):
            self._take(row, token, logprob)

    def _continuing(self, logprobs: Tensor, start: bytes) -> Tensor:
        if not start:
            return logprobs
        longer, shorter = self._vocabulary.completions_of(start)
        allowed = [*longer, *shorter]
        kept = torch.full_like(logprobs, FORBIDDEN)
        kept[allowed] = logprobs[allowed]
        return kept

    def _take(self, row: _Row, token: int, logprob: float) -> None:
        row.tokens.append(token)  # of a row that has ended too: rows stay equally long
        if row.ended:
            return
        row.logprobs.append(logprob)
        row.start = row.start[len(self._vocabulary.bytes_of(token)) :]
        row.hopeless = sum(row.logprobs) < LEAST_LOGPROB
        row.ended = row.hopeless or token in self._breaks


class StreamWriter:
    """Implements `Writer` for `rows` rows of at most `most` tokens.

    `encoder` holds the prefix's keys and values [1, H, P, hd] per layer, `last_state` [1, 1, D] is its last state,
    `last_tokens` its last two tokens.
    """

    def __init__(
        self,
        network: Duostream,
        encoder: Sequence[KeysValues],
        last_state: Tensor,
        last_tokens: Sequence[int],
        rows: int,
        most: int = MOST_TOKENS,
    ) -> None:
        self._network = network
        self._last_state = last_state
        self._last_tokens = last_tokens
        self._rows = rows
        self._length = encoder[0][0].shape[2]
        self._step = 0
        size = self._length + rows * most
        size += -size % ROUNDED
        self._encoder = [(_roomy(keys, size), _roomy(values, size)) for keys, values in encoder]
        self._hidden = self._encoder[0][0].new_full((1, 1, rows, size), FORBIDDEN)
        self._hidden[..., : self._length] = 0
        self._direction = torch.full((rows,), PREFIX, device=self._hidden.device)

    def first(self) -> Tensor:
        return self._logprobs(self._last_state[0])

    def after(self, rows: Sequence[Sequence[int]]) -> Tensor:
        network = self._network
        history = torch.tensor([[*self._last_tokens, *row][-3:] for row in rows], device=self._hidden.device)
        start = self._length + self._step * self._rows
        here = slice(start, start + self._rows)
        self._hidden[0, 0, :, here].fill_diagonal_(0)
        x = network.embed(history, self._direction)[:, -1].unsqueeze(0)
        position = torch.tensor([self._length + self._step], device=x.device)
        tables = network.rotary(position)
        for number, layer in enumerate(network.encoder):
            x = self._through(cast(EncoderLayer, layer), x, tables, self._encoder[number], here)
        self._step += 1
        return self._logprobs(network.encoder_norm(x)[0])

    def _logprobs(self, states: Tensor) -> Tensor:
        """States [R, D] -> log-probabilities [R, V]."""
        return torch.log_softmax(self._network.logits(states).float(), -1)

    def _through(self, layer: EncoderLayer, x: Tensor, tables: Tables, held: KeysValues, here: slice) -> Tensor:
        query, key, value = layer.projection(x)
        held[0][:, :, here] = rotate(key, tables)
        held[1][:, :, here] = value
        attended = F.scaled_dot_product_attention(rotate(query, tables), *held, attn_mask=self._hidden)
        fed: Tensor = layer.feed_forward(x + layer.output(merge_heads(attended)))
        return fed


def _roomy(held: Tensor, size: int) -> Tensor:
    """A copy of keys or values [1, H, P, hd] with room for `size` positions."""
    room = held.new_zeros(*held.shape[:2], size, held.shape[3])
    room[:, :, : held.shape[2]] = held
    return room
