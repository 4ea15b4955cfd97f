"""The encoded tokens of context streams, looked up by their common prefix."""

from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

State = TypeVar("State")
Ints = NDArray[np.int64]

BLOCK = 64  # tokens


class StreamCache(Generic[State]):
    """A few streams, newest last, so that typing, a second cursor and another file each find their own."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: list[tuple[Ints, State]] = []

    def nearest(self, ids: Ints) -> tuple[State | None, int]:
        """Return the stream that shares the most leading tokens with `ids`, and how many it shares."""
        best: State | None = None
        shared = 0
        for cached, state in reversed(self._entries):
            agreed = shared_length(cached, ids)
            if agreed > shared:
                best, shared = state, agreed
        return best, shared

    def put(self, ids: Ints, state: State) -> None:
        """Remember a stream. Replaces one that it only extends or shortens."""
        others = [
            (cached, kept)
            for cached, kept in self._entries
            if shared_length(cached, ids) < 0.7 * min(len(cached), len(ids))
        ]
        self._entries = [*others, (ids, state)][-self._size :]


def cut_in_blocks(ids: Sequence[int], most: int) -> Ints:
    """The last tokens of `ids`, at most `most`. The far end is cut in whole blocks, so that the cut seldom moves."""
    excess = max(0, len(ids) - most)
    return np.array(ids[-(-excess // BLOCK) * BLOCK :], dtype=np.int64)


def shared_length(one: Ints, other: Ints) -> int:
    """Return how many leading tokens agree."""
    length = min(len(one), len(other))
    differing = np.flatnonzero(one[:length] != other[:length])
    return int(differing[0]) if len(differing) else length
