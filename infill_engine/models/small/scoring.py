"""Scores texts from other sources, given the text around the hole, with the prompted prefix stream.

All texts are read at once as one tree of tokens. A common beginning appears once, and a token attends to the prompt and
to its ancestors.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from infill_engine.context.ngrams import LONGEST, Ngrams
from infill_engine.models.base import Ints

MOST_TOKENS = 24  # of a text; later tokens and the end are not scored
ROOT = -1


@dataclass(frozen=True, slots=True)
class Tree:
    """Token n follows token `parents[n]`, or the prompt (ROOT), and is at depth `depths[n]` after it.

    `paths` are the token indices of each text.
    """

    tokens: Ints
    parents: tuple[int, ...]
    depths: Ints
    paths: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, texts: Sequence[Sequence[int]]) -> "Tree":
        """Build the tree of some texts, given as tokens."""
        numbers: dict[tuple[int, int], int] = {}
        paths = []
        for text in texts:
            path = [ROOT]
            for token in text[:MOST_TOKENS]:
                path.append(numbers.setdefault((path[-1], token), len(numbers)))
            paths.append(tuple(path[1:]))
        parents = tuple(parent for parent, _ in numbers)
        depths: list[int] = []
        for parent in parents:
            depths.append(0 if parent == ROOT else depths[parent] + 1)
        tokens = np.array([token for _, token in numbers], dtype=np.int64)
        return cls(tokens, parents, np.array(depths, dtype=np.int64), tuple(paths))

    def seen(self) -> NDArray[np.bool_]:
        """Return the attention mask [n, n]: each token sees itself and its ancestors."""
        found = np.eye(len(self.tokens), dtype=bool)
        for number, parent in enumerate(self.parents):
            if parent != ROOT:
                found[number] |= found[parent]
        return found

    def histories(self, before: Sequence[int], length: int) -> list[list[int]]:
        """Return the last `length` tokens up to each token, where `before` are the prompt's."""
        found: list[list[int]] = []
        for token, parent in zip(self.tokens.tolist(), self.parents, strict=True):
            found.append([*(before if parent == ROOT else found[parent]), token][-length:])
        return found


def logprobs_of(
    tree: Tree, logprobs: NDArray[np.float32], ends: Ints, before: Sequence[int], counts: Sequence[Ngrams]
) -> list[float]:
    """Return the log-probability of each text of a tree, including its end, which is one of the tokens `ends`.

    `logprobs` [1 + n, V] are the network's, for what follows the prompt and each token. `before` are the prompt's last
    tokens. Each of `counts` corrects the result of the previous ones.
    """
    histories = [list(before[-LONGEST:]), *tree.histories(before[-LONGEST:], LONGEST)]

    ending = frozenset(ends.tolist())
    ended = np.logaddexp.reduce(logprobs[:, ends], 1)

    def follows(number: int, tokens: Set[int], logprob: float) -> float:
        expected = float(logprob)
        for counted in counts:
            expected = counted.logprob(histories[1 + number], tokens, expected)
        return expected

    def ends_behind(number: int) -> float:
        return follows(number, ending, ended[1 + number])

    taken = [
        follows(parent, {token}, logprobs[1 + parent, token])
        for token, parent in zip(tree.tokens.tolist(), tree.parents, strict=True)
    ]
    return [
        sum(taken[number] for number in path) + (ends_behind((ROOT, *path)[-1]) if len(path) < MOST_TOKENS else 0.0)
        for path in tree.paths
    ]
