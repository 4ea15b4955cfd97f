"""N-gram counts of the project's other files, computed one piece at a time while idle."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from cachetools import LRUCache

from infill_engine.context.ngrams import Ngrams
from infill_engine.text.lines import in_pieces
from infill_engine.types import Surroundings

KEPT = 6  # texts, about 3 MB each
DOUBT = 10.0  # doubt in their counts: other files are weaker evidence than the current one
PIECE_CHARS = 4_000  # take about 2 ms


class CountedSurroundings:
    """The counts of the texts around the most recently used documents."""

    def __init__(self, encode: Callable[[str], Sequence[int]]) -> None:
        self._encode = encode
        self._counts: LRUCache[str, Ngrams] = LRUCache(KEPT)

    def get(self, name: str) -> Ngrams | None:
        """Return the counts of the text with that name; None if there are none yet."""
        return self._counts.get(name)

    def count(self, surroundings: Surroundings) -> Iterator[None]:
        """Count a text, unless it is known. Yields after every piece; the counts are available after the last one."""
        if surroundings.text and self.get(surroundings.name) is None:
            pieces = []
            for piece in in_pieces(surroundings.text.replace("\r\n", "\n"), PIECE_CHARS):
                pieces.append(np.array(self._encode(piece), dtype=np.int32))
                yield
            self._counts[surroundings.name] = Ngrams([np.concatenate(pieces)], DOUBT)
