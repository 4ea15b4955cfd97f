"""How text goes on after the same tokens elsewhere: counts that correct what a network expects.

A small network knows its language better than the file it stands in, or the project. Behind k tokens that were seen n
times, with u different ones following, c times this one, its probability is taken for (c + d·u·p) / (n + d·u): d is the
doubt, p what k - 1 tokens say, and where even LEAST tokens were never seen, what the network says (Witten and Bell's
interpolation, doi 10.1109/18.87000, with a network at its bottom).
"""

from collections.abc import Iterator, Sequence, Set
from math import exp, log

import numpy as np
from numpy.typing import NDArray

LEAST, LONGEST = 2, 8  # tokens to the left that have to be the same; places are looked up by the least
DOUBT = 5.0  # in the counts of a file: how many different ways on count as one that was not seen
SEPARATOR = -1  # between two texts
BASE = 1 << 32  # of a number that stands for two tokens
FLOOR = 1e-12  # of a probability
# Of a pair that stands everywhere, as in tables of numbers, a fair sample is looked at, and of that one is counted: it
# would take seconds otherwise.
LOOKED_AT, COUNTED = 5_000, 1_000
SPREAD = np.arange(LOOKED_AT) * 2_654_435_761  # a prime: modulo any length, as good as drawn


class Ngrams:
    """The places of every two tokens in some texts, given as tokens [T] each."""

    def __init__(self, texts: Sequence[NDArray[np.integer]], doubt: float = DOUBT) -> None:
        self._doubt = doubt
        self._tokens = np.concatenate([part for text in texts for part in (text, [SEPARATOR])]).astype(np.int32)
        pairs = self._tokens[:-2] * np.int64(BASE) + self._tokens[1:-1]
        order = np.argsort(pairs, kind="stable")
        self._sorted, self._seconds = pairs[order], (order + 1).astype(np.int32)

    def logprob(self, context: Sequence[int], tokens: Set[int], expected: float) -> float:
        """The log-probability that one of `tokens` follows `context`, where a network gives them `expected`."""
        probability = exp(expected)
        for following in self._following(context):
            found = following.tolist()  # mostly few
            doubt = self._doubt * len(set(found))
            seen = sum(token in tokens for token in found)
            probability = (seen + doubt * probability) / (len(found) + doubt)
        return log(max(probability, FLOOR))

    def correct(self, context: Sequence[int], probabilities: NDArray[np.float32]) -> None:
        """The same for the probabilities [V] of all tokens, in their place."""
        for following in self._following(context):
            ways, counts = np.unique(following, return_counts=True)
            doubt = self._doubt * len(ways)
            probabilities *= doubt / (len(following) + doubt)
            probabilities[ways] += counts / (len(following) + doubt)

    def longest(self, context: Sequence[int]) -> NDArray[np.int32]:
        """What followed the longest run of last tokens of `context` that was seen before; empty if none was."""
        return next(iter(list(self._following(context))[::-1]), np.empty(0, np.int32))

    def _following(self, context: Sequence[int]) -> Iterator[NDArray[np.int32]]:
        """What stands behind the last two tokens of `context`, the last three and so on, as often as it does."""
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
    """At most so many of the values, spread evenly and not in step with what a table repeats."""
    return values if len(values) <= most else values[SPREAD[:most] % len(values)]
