"""Several texts for one hole as one tree of tokens, in which common beginnings are shared.

Retrieved texts are added whole. A pass of the model over some nodes predicts how each continues and where it may end,
which scores the retrieved texts and adds the model's own continuations. So verifying a retrieved text, continuing it
where it stops being right, and writing a new text are one search, always at the nodes that are most likely to be on the
path to the right text.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, zip_longest
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from infill_engine.models.tokenizer import TokenizerVocabulary
from infill_engine.sampling.trunk.middle import EndRules, Known
from infill_engine.sampling.trunk.tree_nodes import Finished, Node

ROOT = 0
CHILDREN = 6  # continuations kept for each node
FIRST_LOGPROB = log(0.25)  # of the first token of a retrieved text, until the model has scored it
ASSUMED_LOGPROB = log(0.7)  # of each further token
PRUNING_MARGIN = 7.0  # nats below the best finished text: not worth a row
LEAST_LOGPROB = -14.0  # of a text that is worth finishing
MOST_DEPTH = 48  # tokens of a text
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass
class TokenTree:
    """The nodes so far, the root first, and the finished texts by their bytes.

    `rules` are those of the first hole, and `start` is its first word. Texts less likely than `least`, or more than
    `pruning_margin` below the best finished one, are not read. `needed` nodes are read whatever their likelihood.

    All whole texts contain the known text. `known_logprobs` maps a number of filled holes to the log-probability of the
    known text after the replaced text. It makes texts in different holes comparable.
    """

    vocabulary: TokenizerVocabulary
    rules: EndRules
    start: bytes = b""
    least: float = LEAST_LOGPROB
    most_depth: int = MOST_DEPTH
    pruning_margin: float = PRUNING_MARGIN
    nodes: list[Node] = field(default_factory=list)
    finished: dict[bytes, Finished] = field(default_factory=dict)
    needed: dict[int, None] = field(default_factory=dict)
    known_logprobs: dict[int, float] = field(default_factory=dict)
    _numbers: dict[tuple[int, int, bool], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        root = Node(-1, -1, -1, b"", self.start, self.rules, opened=len(self.start), logprob=0.0, proposed=True)
        self.nodes.append(root)

    def insert(self, tokens: Sequence[int], parent: int = ROOT) -> list[int]:
        """Insert a text that continues `parent`, and return its nodes."""
        path: list[int] = []
        if self.nodes[parent].known:  # something else must follow
            return path
        for token in tokens[: self.most_depth - 1 - self.nodes[parent].depth]:
            usual = FIRST_LOGPROB if parent == ROOT else ASSUMED_LOGPROB
            parent = self.child(parent, token, usual)
            self.nodes[parent].denoised = False
            path.append(parent)
        return path

    def need(self, encode: Callable[[str], list[int]], texts: Sequence[str]) -> None:
        """Add the current text of the holes: every node of it is read. Holes that repeat others are left out.

        `encode` must give the canonical tokens of a text.
        """
        number = ROOT
        for text in texts:
            start, rules = self.nodes[number].start.decode(), self.nodes[number].rules
            tokens = encode(start + text)
            path = self.insert(tokens, number)
            self.needed.update(dict.fromkeys(path))
            if len(path) < len(tokens):
                return
            above = path[-2] if len(path) > 1 else number
            number = path[-1]
            *same, ending = encode(f"{start}{text}\n")
            if same == tokens[:-1] and ending in rules.last:
                self.nodes[above].endings = (ending,)
            node = self.nodes[number]
            known = rules.middle.after((*node.fills, node.text[node.opened :])) if rules.middle else None
            if known is None:
                return
            run = self.add_known(number, known, known.tokens)
            self.needed.update(dict.fromkeys(run))
            number = run[-1]

    def path(self, number: int) -> list[int]:
        """Return the nodes from the first token to this one."""
        found = []
        while number != ROOT:
            found.append(number)
            number = self.nodes[number].parent
        return found[::-1]

    def tokens(self, number: int) -> list[int]:
        """Return the tokens of a node's text."""
        return [self.nodes[one].token for one in self.path(number)]

    def worthwhile(self, wanted: int) -> list[int]:
        """Return nodes that the model has not seen, likeliest first, each after its parent; parents are seen or listed.

        Leaves out nodes that are far less likely than the last of `wanted` finished texts. Needed nodes come first.
        """
        known = min(self.known_logprobs.values(), default=0.0)
        ranked = sorted((one.logprob - known for one in self.finished.values()), reverse=True)
        least = self.least
        if ranked:
            least = max(least, ranked[0] - self.pruning_margin, ranked[wanted - 1] if len(ranked) >= wanted else least)
        expected = {ROOT: 0.0}
        found: list[tuple[float, int]] = []
        for number, node in enumerate(self.nodes[1:], 1):
            worth = self._worth(node, expected)
            if worth is None:
                continue
            expected[number] = worth
            if not node.seen and number not in self.needed and worth >= least and node.depth + 1 < self.most_depth:
                found.append((-worth, number))
        unseen = [number for number in self.needed if not self.nodes[number].seen]
        return [*unseen, *self._by_turns([number for _, number in sorted(found)])]

    def _by_turns(self, numbers: Sequence[int]) -> list[int]:
        """Interleave the nodes of the holes (round robin), in the same order within each, to find whole texts early."""
        holes: dict[int, list[int]] = defaultdict(list)
        for number in numbers:
            holes[len(self.nodes[number].fills)].append(number)
        turns = zip_longest(*(holes[hole] for hole in sorted(holes, reverse=True)))
        return [number for turn in turns for number in turn if number is not None]

    def _worth(self, node: Node, expected: Mapping[int, float]) -> float | None:
        """Return the expected log-probability of a node's text, known text aside; None if its parent is not worth it.

        Known text is read in one go, so each of its tokens is worth as much as the first.
        """
        above = self.nodes[node.parent]
        if above.known and node.parent in expected and (node.known or node.logprob is None):
            return expected[node.parent]
        if node.logprob is None:
            return expected[node.parent] + node.assumed_logprob if node.parent in expected else None
        return node.logprob - self.known_logprobs.get(len(above.fills if node.known else node.fills), 0.0)

    def probability(self, number: int) -> float:
        """Return the probability that a node's text is the beginning of the right one, as far as it is known."""
        total = 0.0
        while (node := self.nodes[number]).logprob is None:
            number, total = node.parent, total + node.assumed_logprob
        return exp(total + node.logprob)

    def add_known(self, number: int, known: Known, tokens: Sequence[int]) -> list[int]:
        """Return the nodes of known text after a node; the last one is the beginning of the next hole, or the end."""
        run = []
        for place, token in enumerate(tokens, 1):
            proposed = self.nodes[number].proposed
            opens = known.opens and place == len(tokens)
            number = self.child(number, token, 0.0, known=True)
            node = self.nodes[number]
            node.proposed |= proposed
            node.known, node.fills = not opens, known.fills
            run.append(number)
        node.rules = known.rules
        if known.opens:
            node.start, node.opened = known.start, len(node.text) + len(known.start)
        return run

    def texts(self) -> list[Finished]:
        """Return the finished texts, likeliest first."""
        return sorted(self.finished.values(), key=lambda one: (-one.logprob, one.text))

    def unfinished(self, least: float) -> Finished | None:
        """Return the longest text without an end whose tokens all have at least the log-probability `least`."""
        sure = [n for n, node in enumerate(self.nodes) if node.text and min(self.logprobs_of(n)) >= least]
        if not sure:
            return None
        best = max(sure, key=lambda n: (self.nodes[n].depth, self.logprob_of(n)))
        return Finished(self.nodes[best].text, tuple(self.tokens(best)), self.logprobs_of(best), 0.0, proposed=True)

    def likeliest(self, most: int) -> list[list[Node]]:
        """Return the nodes of at most `most` texts, as far as they have grown, likeliest first."""
        inner = {node.parent for node in self.nodes}
        leaves = [number for number in range(1, len(self.nodes)) if number not in inner]
        leaves.sort(key=lambda number: -(self.probability(number) ** (1 / (1 + self.nodes[number].depth))))
        return [[self.nodes[one] for one in self.path(leaf)] for leaf in leaves[:most]]

    def child(self, parent: int, token: int, assumed_logprob: float = ASSUMED_LOGPROB, *, known: bool = False) -> int:
        """Return the number of the node for a token after `parent`, which is added if it is missing."""
        found = self._numbers.get((parent, token, known))
        if found is None:
            above, data = self.nodes[parent], self.vocabulary.bytes_of(token)
            found = self._numbers[parent, token, known] = len(self.nodes)
            node = Node(
                token,
                parent,
                above.depth + 1,
                above.text + data,
                above.start[len(data) :],
                above.rules,
                above.fills,
                above.opened,
                assumed_logprob=assumed_logprob,
            )
            self.nodes.append(node)
        return found

    def children(self, number: int) -> Iterator[Node]:
        """Yield the nodes right after a node."""
        return (node for _, node in self.numbered_children(number))

    def numbered_children(self, number: int) -> Iterator[tuple[int, Node]]:
        """Yield the nodes right after a node, with their numbers."""
        return ((n, self.nodes[n]) for n in range(number + 1, len(self.nodes)) if self.nodes[n].parent == number)

    def logprob_of(self, number: int) -> float:
        """Return the log-probability of a node's text, LEAST_LOGPROB while it is unknown."""
        known = self.nodes[number].logprob
        return LEAST_LOGPROB if known is None else known

    def logprobs_of(self, number: int) -> tuple[float, ...]:
        """Return the log-probability of each token of a node's text, given those before it."""
        sums = [0.0, *(self.logprob_of(one) for one in self.path(number))]
        return tuple(after - before for before, after in pairwise(sums))
