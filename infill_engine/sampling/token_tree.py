"""Several texts for one hole as one tree of tokens, in which common beginnings are shared.

Retrieved texts are added whole. A pass of the model over some nodes predicts how each continues and where it may end,
which scores the retrieved texts and adds the model's own continuations. So verifying a retrieved text, continuing it
where it stops being right, and writing a new text are one search, always at the nodes that are most likely to be on the
path to the right text.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import exp, log
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from infill_engine.text.delimiters import QUOTES, Scan, scan

ROOT = 0
CHILDREN = 6  # continuations kept for each node
FIRST_LOGPROB = log(0.25)  # of the first token of a retrieved text, until the model has scored it
PLANTED_LOGPROB = log(0.7)  # of each further token
FAR_BEHIND = 7.0  # nats below the best finished text: not worth a row
LEAST_LOGPROB = -14.0  # of a text that is worth finishing
MOST_DEPTH = 48  # tokens of a text
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


class Vocabulary(Protocol):
    """The token functions that a tree needs."""

    def bytes_of(self, token: int) -> bytes: ...

    def completions_of(self, start: bytes) -> tuple[Ints, Ints]: ...


@dataclass(frozen=True, slots=True)
class EndRules:
    """Where a text may end. `ends` are the tokens that end it and are not part of it.

    `last` are tokens with text before a line break: in a hole of one line, they end the text after that part. Inside a
    line (`in_brackets`) a text must close the brackets it opens, and may close no others. `forbidden` tokens may not
    occur in a text.
    """

    ends: Ints
    last: Ints
    forbidden: Ints
    in_brackets: bool = False


@dataclass(slots=True)
class Node:
    """A token after its parent's text. Log-probabilities are natural; None while they are unknown."""

    token: int
    parent: int
    depth: int  # of the token in its text, from 0; -1 for the root
    text: bytes
    start: bytes  # the part of the word at the cursor that remains to be spelled
    logprob: float | None = None  # of the text up to this token
    planted: float = 0.0  # the assumed log-probability of the token, until the model has scored it
    proposed: bool = False  # by the model, as one of its likeliest
    slot: int = -1  # of its keys and values, once the model has seen it
    seen: bool = False


@dataclass(frozen=True, slots=True)
class Finished:
    """A whole text: its bytes, starting with the cursor's word, and the log-probabilities of its tokens.

    `ending` is the log-probability of its end. `proposed` tells whether the model itself proposed the text.
    """

    text: bytes
    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]
    ending: float
    proposed: bool

    @property
    def logprob(self) -> float:
        """The log-probability of the text and its end."""
        return sum(self.logprobs) + self.ending


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A text up to one of its tokens, in bytes.

    `logprob` is that of the text so far, or None until the model has scored the token. `seen`: the model has read it.
    """

    text: bytes
    logprob: float | None
    seen: bool


@dataclass(frozen=True, slots=True)
class TreeStep:
    """The likeliest texts of a search after a pass, each as its pieces from the first token on."""

    number: int
    texts: tuple[tuple[TextPiece, ...], ...]


@dataclass
class TokenTree:
    """The nodes so far, the root first, and the finished texts by their bytes."""

    vocabulary: Vocabulary
    rules: EndRules
    start: bytes = b""
    nodes: list[Node] = field(default_factory=list)
    finished: dict[bytes, Finished] = field(default_factory=dict)
    _numbers: dict[tuple[int, int], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.nodes.append(Node(-1, -1, -1, b"", self.start, 0.0, proposed=True))

    def plant(self, tokens: Sequence[int], parent: int = ROOT, logprobs: Sequence[float] = ()) -> list[int]:
        """The nodes of a text that continues `parent`; missing nodes are added.

        `logprobs` are the assumed log-probabilities of its tokens, if known.
        """
        path = []
        for number, token in enumerate(tokens[: MOST_DEPTH - 1 - self.nodes[parent].depth]):
            usual = FIRST_LOGPROB if parent == ROOT else PLANTED_LOGPROB
            parent = self._child(parent, token, logprobs[number] if logprobs else usual)
            path.append(parent)
        return path

    def path(self, number: int) -> list[int]:
        """The nodes from the first token to this one."""
        found = []
        while number != ROOT:
            found.append(number)
            number = self.nodes[number].parent
        return found[::-1]

    def tokens(self, number: int) -> list[int]:
        """The tokens of a node's text."""
        return [self.nodes[one].token for one in self.path(number)]

    def worthwhile(self, wanted: int) -> list[int]:
        """Nodes that the model has not seen, likeliest first, each after its parent; parents are seen or listed.

        Leaves out nodes that are far less likely than the last of `wanted` finished texts.
        """
        ranked = sorted((one.logprob for one in self.finished.values()), reverse=True)
        least = LEAST_LOGPROB
        if ranked:
            least = max(least, ranked[0] - FAR_BEHIND, ranked[wanted - 1] if len(ranked) >= wanted else least)
        expected = {ROOT: 0.0}
        found: list[tuple[float, int]] = []
        for number, node in enumerate(self.nodes[1:], 1):
            if node.logprob is not None:
                expected[number] = node.logprob
            elif node.parent in expected:
                expected[number] = expected[node.parent] + node.planted
            if not node.seen and number in expected and expected[number] >= least and node.depth + 1 < MOST_DEPTH:
                found.append((-expected[number], number))
        return [number for _, number in sorted(found)]

    def probability(self, number: int) -> float:
        """The probability that a node's text is the beginning of the right one, as far as it is known."""
        total = 0.0
        while (node := self.nodes[number]).logprob is None:
            number, total = node.parent, total + node.planted
        return exp(total + node.logprob)

    def learn(self, number: int, logprobs: Floats, likeliest: Ints) -> None:
        """Adds the model's prediction after a node: log-probabilities [V], and the likeliest tokens, best first."""
        node = self.nodes[number]
        node.seen = True
        base = self._logprob(number)
        if node.start:
            tokens = np.concatenate(self.vocabulary.completions_of(node.start))
            order = tokens[np.argsort(-logprobs[tokens], kind="stable")[: 2 * CHILDREN]]
            base -= _log_sum(logprobs[tokens])  # the rest of the word is given
        else:
            order = likeliest
            if node.text:
                self._end(number, _log_sum(logprobs[self.rules.ends]))
        for child in self._children(number):
            fits = not node.start or len(child.start) < len(node.start)
            child.logprob = base + float(logprobs[child.token]) if fits else LEAST_LOGPROB
        allowed = [token for token in order.tolist() if token not in self._forbidden]
        for token in allowed[:CHILDREN]:
            logprob = base + float(logprobs[token])
            text = node.text + self.vocabulary.bytes_of(token)
            if logprob > LEAST_LOGPROB and not self._closes_too_much(text):
                child = self.nodes[self._child(number, token)]
                child.logprob, child.proposed = logprob, node.proposed
        if not node.start and len(self.rules.last):
            best = int(self.rules.last[np.argmax(logprobs[self.rules.last])])
            self._end_with(number, best, float(logprobs[best]))

    def learn_pass(self, numbers: Sequence[int], logprobs: Floats, likeliest: Ints, slots: Sequence[int]) -> None:
        """Adds the results of a pass over some nodes, [T, V] and [T, K], and the slots of their keys.

        If there is one row more than nodes, the first row is the root's.
        """
        rows = [ROOT, *numbers] if len(logprobs) > len(numbers) else list(numbers)
        for number, slot in zip(numbers, slots, strict=True):
            self.nodes[number].slot = slot
        for row in sorted(range(len(rows)), key=lambda row: self.nodes[rows[row]].depth):
            self.learn(rows[row], logprobs[row], likeliest[row])

    def texts(self) -> list[Finished]:
        """The finished texts, likeliest first."""
        return sorted(self.finished.values(), key=lambda one: (-one.logprob, one.text))

    def unfinished(self, least: float) -> Finished | None:
        """The longest text without an end whose tokens all have at least the log-probability `least`."""
        sure = [n for n, node in enumerate(self.nodes) if node.text and min(self._logprobs(n)) >= least]
        if not sure:
            return None
        best = max(sure, key=lambda n: (self.nodes[n].depth, self._logprob(n)))
        return Finished(self.nodes[best].text, tuple(self.tokens(best)), self._logprobs(best), 0.0, proposed=True)

    def likeliest(self, most: int) -> list[list[Node]]:
        """The nodes of at most `most` texts, as far as they have grown, likeliest first."""
        inner = {node.parent for node in self.nodes}
        leaves = [number for number in range(1, len(self.nodes)) if number not in inner]
        leaves.sort(key=lambda number: -(self.probability(number) ** (1 / (1 + self.nodes[number].depth))))
        return [[self.nodes[one] for one in self.path(leaf)] for leaf in leaves[:most]]

    @cached_property
    def _forbidden(self) -> frozenset[int]:
        return frozenset(self.rules.forbidden.tolist())

    def _child(self, parent: int, token: int, planted: float = PLANTED_LOGPROB) -> int:
        found = self._numbers.get((parent, token))
        if found is None:
            above, data = self.nodes[parent], self.vocabulary.bytes_of(token)
            found = self._numbers[parent, token] = len(self.nodes)
            start = above.start[len(data) :]
            node = Node(token, parent, above.depth + 1, above.text + data, start, planted=planted)
            self.nodes.append(node)
        return found

    def children(self, number: int) -> list[int]:
        """The nodes that continue a node: first those that the model has scored, likeliest first, then the others."""
        found = [one for one in range(number + 1, len(self.nodes)) if self.nodes[one].parent == number]
        return sorted(found, key=lambda one: -self._logprob(one))

    def _children(self, number: int) -> Iterator[Node]:
        return (node for node in self.nodes[number + 1 :] if node.parent == number)

    def _logprob(self, number: int) -> float:
        known = self.nodes[number].logprob
        return LEAST_LOGPROB if known is None else known

    def _logprobs(self, number: int) -> tuple[float, ...]:
        """The log-probability of each token of a node's text, given those before it."""
        sums = [0.0, *(self._logprob(one) for one in self.path(number))]
        return tuple(after - before for before, after in pairwise(sums))

    def _end(self, number: int, logprob: float) -> None:
        node = self.nodes[number]
        if self.rules.in_brackets and _scanned(node.text).opened:
            return
        finished = Finished(node.text, tuple(self.tokens(number)), self._logprobs(number), logprob, node.proposed)
        self._add(finished)

    def _end_with(self, number: int, token: int, logprob: float) -> None:
        """Ends the text with the part of a token before its line break."""
        text = self.nodes[number].text + self.vocabulary.bytes_of(token).split(b"\n")[0].rstrip(b" \t\r")
        tokens = (*self.tokens(number), token)
        self._add(Finished(text, tokens, (*self._logprobs(number), logprob), 0.0, self.nodes[number].proposed))

    def _add(self, finished: Finished) -> None:
        known = self.finished.get(finished.text)
        if finished.logprob > LEAST_LOGPROB * 3 and (known is None or finished.logprob > known.logprob):
            self.finished[finished.text] = finished

    def _closes_too_much(self, text: bytes) -> bool:
        return self.rules.in_brackets and bool(_scanned(text).closed)


def _log_sum(logprobs: Floats) -> float:
    """The logarithm of the sum of probabilities."""
    most = float(logprobs.max(initial=-np.inf))
    return most + log(float(np.exp(logprobs - most).sum())) if most > -np.inf else LEAST_LOGPROB


def _scanned(text: bytes) -> Scan:
    return scan(text.decode("utf-8", "replace"), "")


def stands_in_brackets(right: str) -> bool:
    """Whether a text left of `right` is between brackets rather than at a line's end or in a string."""
    return bool(right.strip()) and right[0] not in QUOTES
