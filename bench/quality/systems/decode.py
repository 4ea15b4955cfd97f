"""Left-to-right generation for the baselines: greedy, and greedy from each of the next best first tokens.

All rows advance together, one token at a time, so that a network can compute them as one batch.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from infill_engine.models.base import Vocabulary

MOST_TOKENS = 24
MOST_TOKENS_BLOCK = 64
FEW = 64  # tokens examined when the text must continue a partial word

Scores = Callable[[Sequence[Sequence[int]]], Sequence[dict[int, float]]]
"""Tokens generated so far of every row, equally many -> log-probabilities of the next token, for every row."""


@dataclass(frozen=True, slots=True)
class Generated:
    """A text and the mean log-probability of its tokens, in nats."""

    text: str
    mean_logprob: float


def most_tokens(max_lines: int) -> int:
    """Return the most tokens a row may have."""
    return MOST_TOKENS if max_lines == 1 else MOST_TOKENS_BLOCK


def generate(
    scores: Scores,
    vocabulary: Vocabulary,
    partial_word: str,
    candidates: int,
    max_lines: int,
    indent: str,
    *,
    end: int | None = None,
    go_on: Callable[[], bool] = lambda: True,
) -> list[Generated]:
    """Return at most `candidates` continuations of `partial_word`, greedy first, each without that word.

    A text ends at the token `end`, or before the line break that leaves the hole: the first one if `max_lines` is 1,
    otherwise the one after which the indentation is less than `indent`. `go_on` is called before every step; rows that
    have not ended when it returns False are dropped.
    """
    start = partial_word.encode()
    first = _fitting(scores([()])[0], vocabulary, start)
    rows = []
    for token in sorted(first, key=lambda token: -first[token])[:candidates]:
        rows.append(_Row(start, max_lines, indent, end))
        rows[-1].take(token, first[token], vocabulary)
    most = most_tokens(max_lines)
    while any(row.text is None for row in rows) and len(rows[0].ids) < most:
        if not go_on():
            break
        for row, options in zip(rows, scores([row.ids for row in rows]), strict=True):
            row.step(options, vocabulary)
    else:
        for row in rows:
            row.finish()
    found = [Generated(row.text, row.logprob / row.counted) for row in rows if row.text]
    return found[:1] + sorted(found[1:], key=lambda text: -text.mean_logprob)


@dataclass(slots=True)
class _Row:
    """One text being generated. `text` is set once it has ended; later tokens only keep the rows equally long."""

    start: bytes
    max_lines: int
    indent: str
    end: int | None
    ids: list[int] = field(default_factory=list)
    data: bytes = b""
    logprob: float = 0.0
    counted: int = 0
    text: str | None = None

    def step(self, options: dict[int, float], vocabulary: Vocabulary) -> None:
        """Append the most probable fitting token, or end if none fits."""
        fitting = {} if self.text is not None else _fitting(options, vocabulary, self.start[len(self.data) :], self.end)
        if fitting:
            token = max(fitting, key=lambda option: (fitting[option], -option))
            self.take(token, fitting[token], vocabulary)
        else:
            self.finish()
            self.ids.append(self.ids[-1])

    def take(self, token: int, logprob: float, vocabulary: Vocabulary) -> None:
        """Append one token."""
        self.ids.append(token)
        self.logprob += logprob
        self.counted += 1
        if token == self.end:
            self.finish()
            return
        self.data += vocabulary.bytes_of(token)
        written = self._written()
        cut = _end(written, self.max_lines, self.indent)
        if cut is not None:
            self.text = written[:cut]

    def finish(self) -> None:
        """End the row with the text so far."""
        if self.text is None:
            self.text = self._written()

    def _written(self) -> str:
        return self.data[len(self.start) :].decode("utf-8", "ignore")


def _fitting(
    options: dict[int, float], vocabulary: Vocabulary, start: bytes, end: int | None = None
) -> dict[int, float]:
    """Return the text tokens that continue `start` or are a prefix of it, and `end`."""
    never = set(vocabulary.never())
    found = {}
    for token, logprob in options.items():
        data = vocabulary.bytes_of(token)
        fits = data and token not in never and (data.startswith(start) or start.startswith(data))
        if fits or (token == end and not start):
            found[token] = logprob
    if not found and start:
        # No observed token begins like this, so accept any that fits.
        longer, shorter = vocabulary.completions_of(start)
        found = dict.fromkeys([*longer[:FEW], *shorter], math.log(1e-6))
    return found


def _end(text: str, max_lines: int, indent: str) -> int | None:
    """Return where the text leaves the hole, or None if it has not."""
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
