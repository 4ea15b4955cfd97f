"""What is kept of a hole's two sides once they are encoded, in arrays of whichever library computes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

from infill_engine.models.base import Ints
from infill_engine.models.small.network import MAX_SLOTS


class Sliceable(Protocol):
    """What torch's and MLX's arrays have in common, and numpy's."""

    @property
    def shape(self) -> Sequence[int]: ...

    def __getitem__(self, index: tuple[slice, ...], /) -> Self: ...


Array = TypeVar("Array", bound=Sliceable)
KeysValues = tuple[Array, Array]  # [1, H, T, hd] each, keys already rotated


@dataclass(frozen=True, slots=True)
class Stream(Generic[Array]):
    """One encoded stream of T tokens: per encoder layer and per decoder layer its keys and values, and final states.

    `states` [1, T, D]. `encoder` is empty where there are no tokens.
    """

    encoder: tuple[KeysValues[Array], ...]
    decoder: tuple[KeysValues[Array], ...]
    states: Array

    @property
    def length(self) -> int:
        return self.states.shape[1]

    def cut(self, length: int) -> "Stream[Array]":
        """The first `length` tokens of it."""
        if self.length == length:
            return self
        return Stream(
            tuple(first(keys_values, length) for keys_values in self.encoder),
            tuple(first(keys_values, length) for keys_values in self.decoder),
            self.states[:, :length],
        )


@dataclass(frozen=True, slots=True)
class Side(Generic[Array]):
    """A stream as the decoder reads it: its keys and values, perhaps padded to blocks, and what hides the padding.

    `hidden` [1, 1, 1, P] is an additive mask, None where there is no padding; `edge` [1, 1, D] the state next to the
    hole, zeros where nothing stands there; `length` counts real tokens.
    """

    keys_values: tuple[KeysValues[Array], ...]
    hidden: Array | None
    edge: Array
    length: int


@dataclass(frozen=True, slots=True)
class Sides(Generic[Array]):
    """What `Context.state` holds here. A prompt is made of the prefix's `stream`, that of `before`, and of `after`.

    `after` are the first tokens right of the hole; both are in text order.
    """

    prefix: Side[Array]
    suffix: Side[Array]
    stream: Stream[Array]
    before: Ints
    after: tuple[int, ...]

    @property
    def first_slot(self) -> tuple[int, int]:
        """Where a canvas begins in the frame of the prefix, and in that of the suffix, which counts down; see `net`."""
        # Where nothing stands to the right, the frame is that of a suffix of one token: training had one to hide.
        return self.prefix.length, max(self.suffix.length, 1) - 1 + MAX_SLOTS


@dataclass(frozen=True, slots=True)
class Prompt(Generic[Array]):
    """A prefix stream read once more from the cursor's line on: n of its tokens, `ids` [T] being all of them.

    `encoder` has for each layer the keys and values of what is seen above the line, of what is shown aside, and of the
    n tokens, in this order; `states` [1, n, D] are theirs.
    """

    encoder: tuple[KeysValues[Array], ...]
    states: Array
    ids: Ints

    def cut(self, length: int) -> "Prompt[Array]":
        """The first `length` tokens of it, one of those read once more at least."""
        excess = len(self.ids) - length
        kept = self.encoder[0][0].shape[2] - excess
        encoder = tuple(first(keys_values, kept) for keys_values in self.encoder)
        return Prompt(encoder, self.states[:, : self.states.shape[1] - excess], self.ids[:length])


def first(keys_values: KeysValues[Array], length: int) -> KeysValues[Array]:
    """Of the first `length` positions."""
    return keys_values[0][:, :, :length], keys_values[1][:, :, :length]


def last(keys_values: KeysValues[Array], length: int) -> KeysValues[Array]:
    """Of the last `length` positions, or of all."""
    return keys_values[0][:, :, -length:], keys_values[1][:, :, -length:]
