"""What followed the same tokens elsewhere in a text, and a cache of encoded lines to count it in."""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from infill_engine.budget.work import Job, Phase, Work
from infill_engine.text.lines import with_breaks_first

LEAST, LONGEST = 2, 8  # tokens to the left that must match; places are indexed by the last LEAST tokens
SEPARATOR = -1  # between two texts
BASE = 1 << 32  # of a number that encodes two tokens
CACHED_LINES = 4096  # with their tokens
# For a pair that occurs everywhere, as in tables of numbers, only a sample is examined and a sample of that is counted:
# otherwise it would take seconds.
LOOKED_AT, COUNTED = 5_000, 1_000
SPREAD = np.arange(LOOKED_AT) * 2_654_435_761  # multiples of a prime: modulo any length, as good as random


class Ngrams:
    """An index of every pair of adjacent tokens in some texts, each given as tokens [T]."""

    def __init__(self, texts: Sequence[NDArray[np.integer]]) -> None:
        self._tokens = np.concatenate([part for text in texts for part in (text, [SEPARATOR])]).astype(np.int32)
        pairs = self._tokens[:-2] * np.int64(BASE) + self._tokens[1:-1]
        order = np.argsort(pairs, kind="stable")
        self._sorted, self._seconds = pairs[order], (order + 1).astype(np.int32)

    def longest(self, context: Sequence[int]) -> NDArray[np.int32]:
        """Return the tokens that followed the longest known suffix of `context`, with repetitions.

        Suffixes have LEAST to LONGEST tokens; the result is empty if none is known.
        """
        found = np.empty(0, np.int32)
        if len(context) < LEAST:
            return found
        pair = context[-2] * BASE + context[-1]
        first, last = np.searchsorted(self._sorted, (pair, pair + 1))
        places = _sample(self._seconds[first:last], LOOKED_AT)
        for length in range(LEAST, min(LONGEST, len(context)) + 1):
            if length > LEAST:
                places = places[places >= length - 1]
                places = places[self._tokens[places - length + 1] == context[-length]]
            following = self._tokens[places + 1]
            following = following[following != SEPARATOR]
            if not len(following):
                break
            found = following
        return _sample(found, COUNTED)

    def usual_next(self, context: Sequence[int]) -> tuple[int, float] | None:
        """Return the token that mostly followed the longest known suffix of `context`, and its share of the cases."""
        following = self.longest(context)
        if not len(following):
            return None
        (token, count), *_ = Counter(following.tolist()).most_common(1)
        return int(token), count / len(following)


class CachedLines:
    """Encodes texts line by line and caches the lines, for a document that is counted again after every edit."""

    def __init__(self, encode: Callable[[str], list[int]]) -> None:
        self._encode = encode
        self._lines: LRUCache[str, NDArray[np.int64]] = LRUCache(CACHED_LINES)

    def encode(self, texts: Sequence[str]) -> Job[list[NDArray[np.int64]]]:
        """Return the tokens [T] of each text."""
        split = [with_breaks_first(text.replace("\r\n", "\n")) for text in texts]
        wanted = dict.fromkeys(line for lines in split for line in lines)
        known = {line: self._lines[line] for line in wanted if line in self._lines}
        new = [line for line in wanted if line not in known]
        if new:
            yield Work(Phase.COUNT, len(new))
        for line in new:
            known[line] = self._lines[line] = np.array(self._encode(line), dtype=np.int64)
        return [np.concatenate([known[line] for line in lines]) for lines in split]


def _sample(values: NDArray[np.int32], most: int) -> NDArray[np.int32]:
    """Return at most `most` of the values, spread evenly but out of step with the period of a table."""
    return values if len(values) <= most else values[SPREAD[:most] % len(values)]
