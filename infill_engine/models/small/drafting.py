"""Continues a prompted prefix stream token by token and so drafts the hole from left to right.

The canvas decoder revises and judges the drafts. All rows are queries at one position, side by side, so the prompt's
keys are read once for all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from infill_engine.budget.work import Job, OutOfTime, Phase, Work
from infill_engine.models.base import Ints, ModelDraft, Vocabulary
from infill_engine.models.small.network.dual_encoder import EOS, PAD
from infill_engine.text.delimiters import QUOTES, Scan, scan

MOST_TOKENS = 16
LEAST_LOGPROB = -9.0  # of a whole text; less probable texts are unlikely to be wanted
FAR_BEHIND = 4.0  # nats; a text this much less probable than the best is not continued
LOOKED_AT = 4  # multiple of the beam width; some of the most probable continuations are invalid
FORBIDDEN = -1e9


@dataclass(frozen=True, slots=True)
class _Row:
    """One partial text. Its next tokens must begin with the bytes `start`."""

    start: bytes
    tokens: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()

    @property
    def logprob(self) -> float:
        """Log-probability of the whole row."""
        return sum(self.logprobs)


class Writer(Protocol):
    """Runs the encoder over one more token per row. A row attends to the prompt and to its own tokens."""

    def first(self) -> Tensor:
        """Return log-probabilities [1, V] of what follows the prompt."""
        ...

    def after(self, rows: Sequence[Sequence[int]], parents: Sequence[int] = ()) -> Tensor:
        """Return log-probabilities [R, V] of what follows each row, one token longer than in the last call.

        Row r continues what was row `parents[r]` then. Without `parents`, each row continues itself.
        """
        ...


def write_drafts(writer: Writer, vocabulary: Vocabulary, start: bytes, right: str, rows: int) -> Job[list[ModelDraft]]:
    """Return at most `rows` texts from the cursor to `right`, most probable first, by a beam search of that width.

    `right` is the text right of the cursor on its line, blank at the end of the line. `start` is the beginning of the
    word to complete. Texts that have not ended when time runs out are dropped.
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
        spare = rows - len(beam)  # dummy rows keep the number of shapes small
        logprobs = writer.after([row.tokens for row in (*beam, *beam[:1] * spare)], [*parents, *parents[:1] * spare])
        beam, parents, ended = search.widen(beam, logprobs[: len(beam)], rows)
        found = sorted((*found, *ended), key=lambda one: -one.logprob)[:rows]
        if found:  # a row only becomes less probable
            least = max(found[0].logprob - FAR_BEHIND, found[-1].logprob if len(found) == rows else LEAST_LOGPROB)
            worthwhile = sum(row.logprob > least for row in beam)
            beam, parents = beam[:worthwhile], parents[:worthwhile]
    return found


class _Search:
    """Which tokens the rows may take, and where a text may end.

    <eos> ends a text. At the end of a line, so does any line break; inside a line, so do the tokens that `right` begins
    with. Inside a line, the text must close every bracket that it opens, and must not close a bracket or quotation that
    it has not opened.
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
        """Return the `width` most probable continuations of `rows` by log-probabilities [R, V], and their parent rows.

        Also returns the texts that ended in this step. Empty texts are excluded.
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
    """Return the tokens that end a text: <eos>, and line breaks at the end of a line or the start of `right` inside."""
    if right.strip():
        ends = np.concatenate(vocabulary.completions_of(f"{right}\n".encode(errors="ignore")))
    else:
        ends = vocabulary.breaks_line()
    return np.array([EOS, *ends], dtype=np.int64)


def last_two(ids: Ints) -> list[int]:
    """Return the tokens that the embedding of the token after `ids` looks back at."""
    return [PAD, PAD, *ids[-2:].tolist()][-2:]
