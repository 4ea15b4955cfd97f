"""The text of the project's other files: which of it is near a document, and what is counted in it.

Counts are made a piece at a time while nobody waits.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePosixPath

import numpy as np
from cachetools import LRUCache

from infill_engine.context.ngrams import Ngrams
from infill_engine.lines import in_pieces
from infill_engine.types import Surroundings

MOST_CHARS = 600_000  # near a document; a search that finds nothing in them takes about 0.05 ms
BETWEEN = "\n\n"  # two files
KEPT = 6  # texts, of some 3 MB each
DOUBT = 10.0  # in their counts: other files say less than the one at hand
PIECE_CHARS = 4_000  # of about 2 ms


def nearest_first(own: PurePosixPath, others: Iterable[PurePosixPath]) -> list[PurePosixPath]:
    """Files by the number of folders one goes up and down to them."""
    return sorted(others, key=lambda path: (_distance(own, path), path))


def joined(files: Iterable[tuple[str, str]]) -> Surroundings:
    """As much of files, given as path and text, as is searched. No more than needed are asked for."""
    taken: list[str] = []
    starts: list[tuple[str, int]] = []
    left, at = MOST_CHARS, 0
    for path, text in files:
        taken.append(text[:left])
        starts.append((path, at))
        at += len(taken[-1]) + len(BETWEEN)
        left -= len(text)
        if left <= 0:
            break
    return Surroundings.of(BETWEEN.join(taken), tuple(starts))


def _distance(one: PurePosixPath, other: PurePosixPath) -> int:
    """How many folders one goes up and down from one file to the other."""
    common = 0
    for left, right in zip(one.parent.parts, other.parent.parts, strict=False):
        if left != right:
            break
        common += 1
    return len(one.parts) + len(other.parts) - 2 * common


class CountedSurroundings:
    """The counts of the texts around a few documents, those last used."""

    def __init__(self, encode: Callable[[str], Sequence[int]]) -> None:
        self._encode = encode
        self._counts: LRUCache[str, Ngrams] = LRUCache(KEPT)

    def get(self, name: str) -> Ngrams | None:
        """The counts of the text of that name; None if there are none, or not yet."""
        return self._counts.get(name)

    def count(self, surroundings: Surroundings) -> Iterator[None]:
        """Counts a text, unless it is known. Yields after every piece; only with the last one is it known."""
        if surroundings.text and self.get(surroundings.name) is None:
            pieces = []
            for piece in in_pieces(surroundings.text.replace("\r\n", "\n"), PIECE_CHARS):
                pieces.append(np.array(self._encode(piece), dtype=np.int32))
                yield
            self._counts[surroundings.name] = Ngrams([np.concatenate(pieces)], DOUBT)
