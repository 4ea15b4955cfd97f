"""How a text goes on after the same tokens elsewhere in it: counts that correct what a network expects.

A small network knows its language better than the file it stands in. Behind k tokens that were seen n times, with u
different ones following, c times this one, its probability is taken for (c + DOUBT·u·p) / (n + DOUBT·u), p being what
k - 1 tokens say, and where even LEAST tokens were never seen, what the network says (Witten and Bell's interpolation,
doi 10.1109/18.87000, with a network at its bottom).
"""

from collections.abc import Sequence
from math import exp, log

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

LEAST, LONGEST = 2, 8  # tokens to the left that have to be the same
DOUBT = 3.0  # in the counts: how many different ways on count as one that was not seen
SEPARATOR = -1  # between two texts
FLOOR = 1e-12  # of a probability


class Ngrams:
    """The places of every token in some texts, given as tokens [T] each."""

    def __init__(self, texts: Sequence[Ints]) -> None:
        self._tokens = np.concatenate([part for text in texts for part in (text, [SEPARATOR])]).astype(np.int64)
        self._order = np.argsort(self._tokens[:-1], kind="stable")
        self._sorted = self._tokens[self._order]

    def logprob(self, context: Sequence[int], tokens: Ints, expected: float) -> float:
        """The log-probability that one of `tokens` follows `context`, where a network gives them `expected`."""
        if not context:
            return expected
        first, last = np.searchsorted(self._sorted, (context[-1], context[-1] + 1))
        places, probability = self._order[first:last], exp(expected)
        for length in range(1, min(LONGEST, len(context)) + 1):
            if length > 1:
                places = places[places >= length - 1]
                places = places[self._tokens[places - length + 1] == context[-length]]
            if not len(places):
                break
            if length >= LEAST:
                following = self._tokens[places + 1]
                following = following[following != SEPARATOR]
                doubt = DOUBT * len(np.unique(following))
                if doubt:
                    seen = int(np.isin(following, tokens).sum())
                    probability = (seen + doubt * probability) / (len(following) + doubt)
        return log(max(probability, FLOOR))
