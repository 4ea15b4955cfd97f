"""A baseline that only counts: a token n-gram model with backoff and a cache of the open file.

Counts are one sorted array of integers per order, with a context's hash in the upper bits and the next token in the
lower sixteen. The same structure holds millions of corpus tokens and the few thousand of a file. Scores are "stupid
backoff" (Brants et al. 2007): the share of the next token in the longest known context, discounted for every order
skipped.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infill_engine.errors import InputError

ORDER = 6  # tokens of the longest n-gram
BACKOFF = 0.4
FILE_WEIGHT = 20.0  # weight of one occurrence in the open file
RARE_FROM = 3  # corpus n-grams of this order and above are kept only if seen twice
TOKEN_BITS = 16
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)

Keys = NDArray[np.uint64]
Counts = NDArray[np.uint32]
Tokens = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class NgramTable:
    """Sorted keys and their counts for each order, starting with bigrams."""

    orders: tuple[tuple[Keys, Counts], ...]

    def following(self, context: Sequence[int], order: int) -> dict[int, int]:
        """Return the tokens seen after the last `order - 1` tokens of `context`, with their counts."""
        if len(context) < order - 1:
            return {}
        keys, counts = self.orders[order - 2]
        low = int(_hash(np.array(context[len(context) - order + 1 :], dtype=np.uint64), order - 1)[0])
        first, last = np.searchsorted(keys, np.array([low, low + (1 << TOKEN_BITS) - 1], dtype=np.uint64))
        found = keys[first:last] & np.uint64((1 << TOKEN_BITS) - 1)
        return dict(zip(found.tolist(), counts[first:last].tolist(), strict=True))

    def save(self, path: Path) -> None:
        """Write the table as one .npz file."""
        arrays: dict[str, NDArray[Any]] = {}
        for number, (keys, counts) in enumerate(self.orders):
            arrays |= {f"k{number}": keys, f"c{number}": counts}
        np.savez(path, **arrays)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path) -> "NgramTable":
        """Read what `save` wrote."""
        with np.load(path) as stored:
            return cls(tuple((stored[f"k{number}"], stored[f"c{number}"]) for number in range(ORDER - 1)))


def count(tokens: NDArray[np.integer], *, drop_rare: bool = False) -> NgramTable:
    """Count all n-grams of `tokens` [T]. `drop_rare` omits long ones that occur once."""
    wide = tokens.astype(np.uint64)
    orders = []
    for order in range(2, ORDER + 1):
        if len(wide) < order:
            orders.append((np.empty(0, np.uint64), np.empty(0, np.uint32)))
            continue
        contexts = _hash(wide[:-1], order - 1)
        keys, counts = np.unique(contexts | wide[order - 1 :], return_counts=True)
        if drop_rare and order >= RARE_FROM:
            keys, counts = keys[counts > 1], counts[counts > 1]
        orders.append((keys, counts.astype(np.uint32)))
    return NgramTable(tuple(orders))


def corpus_table(path: Path, parts: Path, use: int) -> NgramTable:
    """Return the table stored at `path`, or count the first `use` packed parts and store the table there.

    Raises InputError if neither exists.
    """
    if path.is_file():
        return NgramTable.load(path)
    found = sorted(parts.glob("part-*.npz"))[:use]
    if not found:
        raise InputError(f"no counts at {path} and no packed parts in {parts} to make them from")
    arrays = []
    for part in found:
        with np.load(part) as stored:
            arrays.append(stored["tokens"])
    table = count(np.concatenate(arrays), drop_rare=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    table.save(path)
    return table


@dataclass(frozen=True, slots=True)
class NgramModel:
    """Combines the corpus and the open file."""

    corpus: NgramTable
    file: NgramTable

    def scores(self, context: Sequence[int]) -> dict[int, float]:
        """Return backoff scores of next tokens, as natural logarithms. Each uses the longest context it followed."""
        found: dict[int, float] = {}
        discount = 0.0
        for order in range(ORDER, 1, -1):
            corpus, file = self.corpus.following(context, order), self.file.following(context, order)
            total = sum(corpus.values()) + FILE_WEIGHT * sum(file.values())
            if total:
                for token in set(chain(corpus, file)) - found.keys():
                    seen = corpus.get(token, 0) + FILE_WEIGHT * file.get(token, 0)
                    found[token] = float(np.log(seen / total)) + discount
                discount += float(np.log(BACKOFF))
        return found


def _hash(tokens: Tokens, length: int) -> Keys:
    """Return the hashes of every run of `length` tokens, in the upper 48 bits."""
    hashed = np.zeros(len(tokens) - length + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for offset in range(length):
            hashed = (hashed ^ (tokens[offset : offset + len(hashed)] + np.uint64(1))) * _MULTIPLIER
            hashed ^= hashed >> np.uint64(29)
    return (hashed >> np.uint64(TOKEN_BITS)) << np.uint64(TOKEN_BITS)
