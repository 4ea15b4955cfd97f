"""Left-to-right generation for the baselines: greedy, and greedy again from each of the next best first tokens."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from infill_engine.models.base import Vocabulary

MOST_TOKENS = 24
MOST_TOKENS_BLOCK = 64
FEW = 64  # tokens looked at when the text must continue a word's beginning

Scores = Callable[[Sequence[int]], dict[int, float]]  # tokens generated so far -> log-probabilities of the next


@dataclass(frozen=True, slots=True)
class Generated:
    """A text with the mean log-probability of its tokens, in nats."""

    text: str
    mean_logprob: float


def generate(
    scores: Scores, vocabulary: Vocabulary, partial_word: str, candidates: int, max_lines: int, indent: str
) -> list[Generated]:
    """At most `candidates` texts that continue `partial_word`, the greedy one first, each without that word.

    A text ends before the line break that leaves the hole: the first where `max_lines` is 1, else the one after which
    the indentation is less than `indent`.
    """
    start = partial_word.encode()
    first = _fitting(scores(()), vocabulary, start)
    branches = sorted(first, key=lambda token: -first[token])[:candidates]
    found = []
    for branch in branches:
        generated = _greedy(scores, vocabulary, start, branch, first[branch], max_lines, indent)
        if generated is not None:
            found.append(generated)
    return found[:1] + sorted(found[1:], key=lambda text: -text.mean_logprob)


def _greedy(
    scores: Scores, vocabulary: Vocabulary, start: bytes, token: int, logprob: float, max_lines: int, indent: str
) -> Generated | None:
    ids: list[int] = []
    data, total = b"", 0.0
    most = MOST_TOKENS if max_lines == 1 else MOST_TOKENS_BLOCK
    while True:
        ids.append(token)
        data += vocabulary.bytes_of(token)
        total += logprob
        end = _end(data[len(start) :].decode("utf-8", "ignore"), max_lines, indent)
        if end is not None or len(ids) >= most:
            break
        options = _fitting(scores(ids), vocabulary, start[len(data) :])
        if not options:
            break
        token = max(options, key=lambda option: (options[option], -option))
        logprob = options[token]
    if len(data) <= len(start):
        return None
    text = data[len(start) :].decode("utf-8", "ignore")
    return Generated(text if end is None else text[:end], total / len(ids))


def _fitting(options: dict[int, float], vocabulary: Vocabulary, start: bytes) -> dict[int, float]:
    """The tokens that stand for text and continue `start`, or are themselves a beginning of it."""
    never = set(vocabulary.never())
    found = {}
    for token, logprob in options.items():
        data = vocabulary.bytes_of(token)
        if data and token not in never and (data.startswith(start) or start.startswith(data)):
            found[token] = logprob
    if not found and start:
        # Nothing that was ever seen here begins like this: any token that does will do.
        longer, shorter = vocabulary.completions_of(start)
        found = dict.fromkeys([*longer[:FEW], *shorter], math.log(1e-6))
    return found


def _end(text: str, max_lines: int, indent: str) -> int | None:
    """Where the text leaves the hole, or None if it has not yet."""
    rows = text.split("\n")
    if max_lines == 1:
        return len(rows[0]) if len(rows) > 1 else None
    at = len(rows[0])
    for number, row in enumerate(rows[1:], 1):
        left = number == max_lines or (row.strip() and not row.startswith(indent))
        if left:
            return at
        at += 1 + len(row)
    return None
