"""Reads a prompted prefix stream on, one token after the other: drafts of the hole, written from left to right.

The canvas decoder revises and judges them. All rows are queries at one position, side by side, so the prompt's keys are
read once for all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from infill_engine.models.base import Ints, ModelDraft, Vocabulary
from infill_engine.models.small.network import EOS, PAD
from infill_engine.text.delimiters import QUOTES, Scan, scan
from infill_engine.work import Job, OutOfTime, Phase, Work

MOST_TOKENS = 16
LEAST_LOGPROB = -9.0  # of a whole text: a less probable one will hardly be what the user wants
FAR_BEHIND = 4.0  # nats: a text so much less probable than the best is not worth the time of writing it
LOOKED_AT = 4  # times the beam's width: some of the most probable ways on are none
FORBIDDEN = -1e9


@dataclass(frozen=True, slots=True)
class _Row:
    """What one row has written. `start` are the bytes that its next tokens must begin with."""

    start: bytes
    tokens: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()

    @property
    def logprob(self) -> float:
        """Of all that it has written."""
        return sum(self.logprobs)


class Writer(Protocol):
    """Runs the encoder over one more token for each row. A row sees the prompt and what it has written itself."""

    def first(self) -> Tensor:
        """Log-probabilities [1, V] of what follows the prompt."""
        ...

    def after(self, rows: Sequence[Sequence[int]], parents: Sequence[int] = ()) -> Tensor:
        """Log-probabilities [R, V] of what follows the tokens of each row, which are one more than the last time.

        Row r goes on from what was row `parents[r]` then; without `parents` each from itself.
        """
        ...


def write_drafts(writer: Writer, vocabulary: Vocabulary, start: bytes, right: str, rows: int) -> Job[list[ModelDraft]]:
    """At most `rows` ways to get from the cursor to `right`, the most probable first, by a beam search of that width.

    `right` is what stands right of the cursor on its line, blank at the line's end. `start` is the beginning of the
    word that is to be completed. What has not come to its end when time runs out is left out.
    """
    first = writer.first()
    search = _Search(vocabulary, right, first.shape[1], first.device)
    beam, parents, ended = search.widen([_Row(start)], first, rows)
    found: list[ModelDraft] = []
    while beam and len(beam[0].tokens) < MOST_TOKENS:
        try:
            yield Work(Phase.WRITE, rows)
        except OutOfTime:
            break
        spare = rows - len(beam)  # rows that have nothing to write keep the shapes few
        logprobs = writer.after([row.tokens for row in (*beam, *beam[:1] * spare)], [*parents, *parents[:1] * spare])
        beam, parents, ended = search.widen(beam, logprobs[: len(beam)], rows)
        found = sorted((*found, *ended), key=lambda one: -one.logprob)[:rows]
        if found:  # a row only becomes less probable
            least = max(found[0].logprob - FAR_BEHIND, found[-1].logprob if len(found) == rows else LEAST_LOGPROB)
            worthwhile = sum(row.logprob > least for row in beam)
            beam, parents = beam[:worthwhile], parents[:worthwhile]
    return found


class _Search:
    """Which tokens the rows take, and where a text may end.

    <eos> ends it; at a line's end so does any line break, and inside a line the tokens that `right` begins with. There
    every bracket of the text must be closed, and the text closes none, and no quotation, that it has not opened.
    """

    def __init__(self, vocabulary: Vocabulary, right: str, size: int, device: torch.device) -> None:
        self._vocabulary = vocabulary
        inside = bool(right.strip())
        quoted = inside and right[0] in QUOTES
        self._has_brackets = inside and not quoted
        breaks = vocabulary.breaks_line()
        ends = ends_at(vocabulary, right)
        self._ends = torch.from_numpy(ends).to(device)
        self._never = torch.zeros(size, device=device)
        self._never[list(vocabulary.never())] = FORBIDDEN
        self._no_text = self._never.clone()
        self._no_text[[EOS, *breaks, *(ends if quoted else ())]] = FORBIDDEN

    def widen(
        self, rows: Sequence[_Row], logprobs: Tensor, width: int
    ) -> tuple[list[_Row], list[int], list[ModelDraft]]:
        """The `width` most probable ways on from `rows` by log-probabilities [R, V], and the rows they come from.

        And the texts that end on the way. An empty text is none.
        """
        allowed = logprobs + self._no_text
        for number, row in enumerate(rows):
            if row.start:
                allowed[number] = self._continuing(allowed[number], row.start)
        ending = (logprobs + self._never)[:, self._ends].logsumexp(-1, keepdim=True)
        size = allowed.shape[1]
        totals = torch.cat([allowed, ending], -1) + torch.tensor([[row.logprob] for row in rows], device=allowed.device)
        best = totals.flatten().topk(LOOKED_AT * width)
        beam: list[_Row] = []
        parents: list[int] = []
        ended: list[ModelDraft] = []
        for total, place in zip(best.values.tolist(), best.indices.tolist(), strict=True):
            parent, token = divmod(place, size + 1)
            row, logprob = rows[parent], total - rows[parent].logprob
            if total < LEAST_LOGPROB:
                break
            if token == size:
                if row.tokens and not row.start and not self._brackets(row.tokens).opened:
                    ended.append(ModelDraft(row.tokens, (*row.logprobs, logprob)))
            elif len(beam) < width and not self._brackets(tokens := (*row.tokens, token)).closed:
                left = row.start[len(self._vocabulary.bytes_of(token)) :]
                beam.append(_Row(left, tokens, (*row.logprobs, logprob)))
                parents.append(parent)
        return beam, parents, ended

    def _brackets(self, tokens: Sequence[int]) -> Scan:
        return scan(self._vocabulary.decode(tokens) or "", "") if self._has_brackets else Scan()

    def _continuing(self, logprobs: Tensor, start: bytes) -> Tensor:
        allowed = torch.from_numpy(np.concatenate(self._vocabulary.completions_of(start))).to(logprobs.device)
        kept = torch.full_like(logprobs, FORBIDDEN)
        kept[allowed] = logprobs[allowed]
        return kept


def ends_at(vocabulary: Vocabulary, right: str) -> Ints:
    """What ends a text: <eos>; at a line's end any line break, inside a line the tokens that `right` begins with."""
    if right.strip():
        ends = np.concatenate(vocabulary.completions_of(f"{right}\n".encode(errors="ignore")))
    else:
        ends = vocabulary.breaks_line()
    return np.array([EOS, *ends], dtype=np.int64)


def last_two(ids: Ints) -> list[int]:
    """What the embedding of the token after `ids` looks back at."""
    return [PAD, PAD, *ids[-2:].tolist()][-2:]
