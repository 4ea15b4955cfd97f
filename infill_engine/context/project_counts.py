"""Counts of what stands in the project's other files, made a piece at a time while nobody waits."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from cachetools import LRUCache

from infill_engine.context.ngrams import Ngrams
from infill_engine.text.lines import in_pieces
from infill_engine.types import Surroundings

KEPT = 6  # texts, of some 3 MB each
DOUBT = 10.0  # in their counts: other files say less than the one at hand
PIECE_CHARS = 4_000  # of about 2 ms


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
