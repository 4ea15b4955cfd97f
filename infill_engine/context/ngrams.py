"""N-gram counts that correct a network's predictions by how text continues after the same tokens elsewhere.

A small network knows its language better than the current file or project. If k tokens were seen n times, followed by u
different tokens, c times by this one, its probability is (c + d·u·p) / (n + d·u). Here d is the doubt and p is the
probability after k - 1 tokens; where even LEAST tokens were never seen, p is the network's (Witten and Bell's
interpolation, doi 10.1109/18.87000, with a network at the lowest order).
"""

from collections.abc import Iterator, Sequence, Set
from math import exp, log

import numpy as np
from numpy.typing import NDArray

LEAST, LONGEST = 2, 8  # tokens to the left that must match; places are indexed by the last LEAST tokens
DOUBT = 5.0  # in the counts of a file: the weight of each distinct continuation in favour of unseen ones
SEPARATOR = -1  # between two texts
BASE = 1 << 32  # of a number that encodes two tokens
FLOOR = 1e-12  # minimum probability
# For a pair that occurs everywhere, as in tables of numbers, only a sample is examined and a sample of that is counted:
# otherwise it would take seconds.
LOOKED_AT, COUNTED = 5_000, 1_000
SPREAD = np.arange(LOOKED_AT) * 2_654_435_761  # multiples of a prime: modulo any length, as good as random


class Ngrams:
    """An index of every pair of adjacent tokens in some texts, each given as tokens [T]."""

    def __init__(self, texts: Sequence[NDArray[np.integer]], doubt: float = DOUBT) -> None:
        self._doubt = doubt
        self._tokens = np.concatenate([part for text in texts for part in (text, [SEPARATOR])]).astype(np.int32)
        pairs = self._tokens[:-2] * np.int64(BASE) + self._tokens[1:-1]
        order = np.argsort(pairs, kind="stable")
        self._sorted, self._seconds = pairs[order], (order + 1).astype(np.int32)

    def logprob(self, context: Sequence[int], tokens: Set[int], expected: float) -> float:
        """Return the log-probability that one of `tokens` follows `context`, if a network predicts `expected`."""
        probability = exp(expected)
        for following in self._following(context):
            found = following.tolist()  # usually few
            doubt = self._doubt * len(set(found))
            seen = sum(token in tokens for token in found)
            probability = (seen + doubt * probability) / (len(found) + doubt)
        return log(max(probability, FLOOR))

    def correct(self, context: Sequence[int], probabilities: NDArray[np.float32]) -> None:
        """The same for the probabilities [V] of all tokens, in place."""
        for following in self._following(context):
            ways, counts = np.unique(following, return_counts=True)
            doubt = self._doubt * len(ways)
            probabilities *= doubt / (len(following) + doubt)
            probabilities[ways] += counts / (len(following) + doubt)

    def longest(self, context: Sequence[int]) -> NDArray[np.int32]:
        """Return the tokens that followed the longest known suffix of `context`; empty if there is none."""
        return next(iter(list(self._following(context))[::-1]), np.empty(0, np.int32))

    def _following(self, context: Sequence[int]) -> Iterator[NDArray[np.int32]]:
        """Yield the tokens after the last two tokens of `context`, after the last three and so on, with repetitions."""
        if len(context) < LEAST:
            return
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
                return
            yield _sample(following, COUNTED)


def _sample(values: NDArray[np.int32], most: int) -> NDArray[np.int32]:
    """Return at most `most` of the values, spread evenly but out of step with the period of a table."""
    return values if len(values) <= most else values[SPREAD[:most] % len(values)]
