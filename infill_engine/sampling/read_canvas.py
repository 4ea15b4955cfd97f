"""Reads the texts off a canvas, finished or not."""

from collections.abc import Iterator, Sequence

import numpy as np

from infill_engine.canvas.canvas import State
from infill_engine.models.base import Continuation, ModelFamily
from infill_engine.sampling.denoise import Row, Step
from infill_engine.settings import SamplerSettings
from infill_engine.types import Guess, Source


def guesses_of(
    family: ModelFamily, step: Step, rows: Sequence[Row], partial_word: str, settings: SamplerSettings
) -> list[Guess]:
    """One guess a row, where the row holds a text that continues `partial_word`.

    Open slots are read as predicted. A row that is not finished counts only up to its first improbable slot, and is
    then flagged partial.
    """
    read = (_guess(family, step, number, row, partial_word, settings) for number, row in enumerate(rows))
    return [guess for guess in read if guess is not None]


def _guess(
    family: ModelFamily, step: Step, number: int, row: Row, partial_word: str, settings: SamplerSettings
) -> Guess | None:
    span = step.canvas.span(number)
    is_open = step.canvas.state[span] == State.OPEN
    ids = np.where(is_open, step.predicted[span], step.canvas.ids[span])
    logprobs = np.where(is_open, step.predicted_logprob[span], step.canvas.logprob[span])
    if family.spec.delete_id is not None:
        kept = (ids != family.spec.delete_id) & (ids != family.spec.expand_id)
        ids, logprobs, is_open = ids[kept], logprobs[kept], is_open[kept]
    ends = np.flatnonzero(ids == family.spec.eos_id)
    end = int(ends[0]) if len(ends) else len(ids)
    partial = False
    if is_open[:end].any():
        doubtful = np.flatnonzero(is_open[:end] & (logprobs[:end] < np.log(settings.partial_confidence)))
        if len(doubtful):
            end, partial = int(doubtful[0]), True
    text = family.vocabulary.decode(ids[:end].tolist()) if end else None
    if text is None or not text.startswith(partial_word) or len(text) == len(partial_word):
        return None
    scored = logprobs[: end + 1] if end < len(ids) and not partial else logprobs[:end]
    return Guess(
        text=text[len(partial_word) :],
        mean_logprob=float(scored.mean()),
        min_logprob=float(scored.min()),
        length_logprob=row.length_logprob,
        stability=float(1 - step.changed[span].mean()),
        tokens=end,
        draft=row.draft,
        partial=partial,
        steps=step.number,
        source=Source.RETRIEVAL if row.draft else Source.MODEL,
        fluency=_fluency(row),
    )


def originals_of(family: ModelFamily, step: Step, rows: Sequence[Row], partial_word: str) -> list[Guess]:
    """The drafts as they were, found or written, with what the model thought of them before it changed anything."""
    originals = []
    for number, row in enumerate(rows):
        text = None if row.tokens is None else _original_text(family, row, partial_word)
        if text is not None:
            logprobs = step.draft_logprob[step.canvas.span(number)]
            originals.append(
                Guess(
                    text=text,
                    mean_logprob=float(logprobs.mean()),
                    min_logprob=float(logprobs.min()),
                    length_logprob=row.length_logprob,
                    tokens=max(1, row.slots - int(family.spec.copies_end)),
                    draft=row.draft,
                    steps=1,
                    source=Source.RETRIEVAL if row.draft else Source.MODEL,
                    fluency=_fluency(row),
                )
            )
    return originals


def unread_own(family: ModelFamily, written: Sequence[Continuation], partial_word: str) -> Iterator[Guess]:
    """The family's own drafts as it wrote them, whether or not a canvas has shown them to it again."""
    for one in written:
        text = _own_text(family, one, partial_word)
        if text is not None:
            yield Guess(
                text,
                mean_logprob=_mean(one.logprobs),
                min_logprob=min(one.logprobs),
                length_logprob=one.logprobs[-1],
                tokens=len(one.tokens),
                fluency=_mean(one.logprobs),
            )


def _original_text(family: ModelFamily, row: Row, partial_word: str) -> str | None:
    if row.draft is not None:
        return row.draft.text
    return _own_text(family, row.written, partial_word) if row.written else None


def _own_text(family: ModelFamily, written: Continuation, partial_word: str) -> str | None:
    text = family.vocabulary.decode(written.tokens)
    return text[len(partial_word) :] if text is not None and text.startswith(partial_word) else None


def _fluency(row: Row) -> float | None:
    return _mean(row.written.logprobs) if row.written else None


def _mean(logprobs: Sequence[float]) -> float:
    return sum(logprobs) / len(logprobs)
