"""What is kept of a hole's two sides after encoding, in the arrays of whichever library computes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

from infill_engine.models.base import Ints
from infill_engine.models.small.network.dual_encoder import MAX_SLOTS


class Sliceable(Protocol):
    """The slicing interface shared by the arrays of torch, MLX and numpy."""

    @property
    def shape(self) -> Sequence[int]: ...

    def __getitem__(self, index: tuple[slice, ...], /) -> Self: ...


Array = TypeVar("Array", bound=Sliceable)
KeysValues = tuple[Array, Array]  # [1, H, T, hd] each, keys already rotated


@dataclass(frozen=True, slots=True)
class Stream(Generic[Array]):
    """One encoded stream of T tokens: keys and values per encoder layer and per decoder layer, and final states.

    `states` [1, T, D]. `encoder` is empty if there are no tokens.
    """

    encoder: tuple[KeysValues[Array], ...]
    decoder: tuple[KeysValues[Array], ...]
    states: Array

    @property
    def length(self) -> int:
        return self.states.shape[1]

    def cut(self, length: int) -> "Stream[Array]":
        """Return the first `length` tokens of the stream."""
        if self.length == length:
            return self
        return Stream(
            tuple(first(keys_values, length) for keys_values in self.encoder),
            tuple(first(keys_values, length) for keys_values in self.decoder),
            self.states[:, :length],
        )


@dataclass(frozen=True, slots=True)
class Side(Generic[Array]):
    """A stream as the decoder reads it: its keys and values, possibly padded to blocks, and a mask for the padding.

    `hidden` [1, 1, 1, P] is an additive mask, None without padding. `edge` [1, 1, D] is the state next to the hole,
    zeros if there is no text. `length` excludes padding.
    """

    keys_values: tuple[KeysValues[Array], ...]
    hidden: Array | None
    edge: Array
    length: int


@dataclass(frozen=True, slots=True)
class Sides(Generic[Array]):
    """What `Context.state` holds here. A prompt uses the prefix's `stream`, the tokens `before` the hole, and `after`.

    `after` are the first tokens right of the hole. Both are in text order.
    """

    prefix: Side[Array]
    suffix: Side[Array]
    stream: Stream[Array]
    before: Ints
    after: tuple[int, ...]

    @property
    def first_slot(self) -> tuple[int, int]:
        """Return where a canvas begins in the prefix frame and in the suffix frame (counts down); see `network`."""
        # Without text to the right, use the frame of a suffix of one token: in training there always was one, hidden.
        return self.prefix.length, max(self.suffix.length, 1) - 1 + MAX_SLOTS


@dataclass(frozen=True, slots=True)
class Prompt(Generic[Array]):
    """A prefix stream re-read from the cursor's line on. Of its T tokens `ids`, the last n were re-read.

    `encoder` holds, per layer, the keys and values of the visible tokens above the line, of the aside, and of the n
    tokens, in this order. `states` [1, n, D] belong to the n tokens.
    """

    encoder: tuple[KeysValues[Array], ...]
    states: Array
    ids: Ints

    def cut(self, length: int) -> "Prompt[Array]":
        """Return the first `length` tokens of the prompt. At least one re-read token must remain."""
        excess = len(self.ids) - length
        kept = self.encoder[0][0].shape[2] - excess
        encoder = tuple(first(keys_values, kept) for keys_values in self.encoder)
        return Prompt(encoder, self.states[:, : self.states.shape[1] - excess], self.ids[:length])


def first(keys_values: KeysValues[Array], length: int) -> KeysValues[Array]:
    """Return the keys and values of the first `length` positions."""
    return keys_values[0][:, :, :length], keys_values[1][:, :, :length]


def last(keys_values: KeysValues[Array], length: int) -> KeysValues[Array]:
    """Return the keys and values of the last `length` positions, or of all."""
    return keys_values[0][:, :, -length:], keys_values[1][:, :, -length:]
