"""Reads the texts from a canvas, finished or not."""

from collections.abc import Sequence

import numpy as np

from infill_engine.models.base import CanvasModel
from infill_engine.models.canvas.canvas import SlotState
from infill_engine.sampling.canvas.denoise import Row, Step
from infill_engine.types import ProposedText, Source

PARTIAL_CONFIDENCE = 0.5  # minimum probability of a token in a partial answer


def proposals_of(model: CanvasModel, step: Step, rows: Sequence[Row], partial_word: str) -> list[ProposedText]:
    """Return one proposal for each row whose text continues `partial_word`.

    Open slots are read as predicted. An unfinished row is cut at its first improbable slot and flagged as partial.
    """
    read = (_propose(model, step, number, row, partial_word) for number, row in enumerate(rows))
    return [proposal for proposal in read if proposal is not None]


def _propose(model: CanvasModel, step: Step, number: int, row: Row, partial_word: str) -> ProposedText | None:
    span = step.canvas.span(number)
    is_open = step.canvas.state[span] == SlotState.OPEN
    ids = np.where(is_open, step.predicted[span], step.canvas.ids[span])
    logprobs = np.where(is_open, step.predicted_logprob[span], step.canvas.logprob[span])
    if model.info.expand_id is not None:
        kept = (ids != model.info.eos_id) & (ids != model.info.expand_id)
        ids, logprobs, is_open = ids[kept], logprobs[kept], is_open[kept]
    ends = np.flatnonzero(ids == model.info.eos_id)
    end = int(ends[0]) if len(ends) else len(ids)
    partial = False
    if is_open[:end].any():
        doubtful = np.flatnonzero(is_open[:end] & (logprobs[:end] < np.log(PARTIAL_CONFIDENCE)))
        if len(doubtful):
            end, partial = int(doubtful[0]), True
    text = model.vocabulary.decode(ids[:end].tolist()) if end else None
    if text is None or not text.startswith(partial_word) or len(text) == len(partial_word):
        return None
    scored = logprobs[: end + 1] if end < len(ids) and not partial else logprobs[:end]
    return ProposedText(
        text=text[len(partial_word) :],
        mean_logprob=float(scored.mean()),
        min_logprob=float(scored.min()),
        length_logprob=row.length_logprob,
        stability=float(1 - step.changed[span].mean()),
        tokens=end,
        draft=row.draft,
        partial=partial,
        passes=step.number,
        source=Source.RETRIEVAL if row.draft else Source.MODEL,
    )


def originals_of(step: Step, rows: Sequence[Row], copies_end: bool) -> list[ProposedText]:
    """Return the unchanged retrieved drafts, with the scores that the model gave them before it changed anything.

    `copies_end` says whether a draft's row ends in an end-of-hole token.
    """
    originals = []
    for number, row in enumerate(rows):
        if row.draft is not None:
            logprobs = step.draft_logprob[step.canvas.span(number)]
            originals.append(
                ProposedText(
                    text=row.draft.text,
                    mean_logprob=float(logprobs.mean()),
                    min_logprob=float(logprobs.min()),
                    length_logprob=row.length_logprob,
                    tokens=max(1, row.slots - int(copies_end)),
                    draft=row.draft,
                    passes=1,
                    source=Source.RETRIEVAL,
                )
            )
    return originals
