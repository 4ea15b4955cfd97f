"""Edits written into a text as `[[before -> after]]`, and what was found for them."""

import re
from collections.abc import Iterable

from infill_engine.edits.by_model.proposals import proposals_of
from infill_engine.edits.by_model.regions import region_of
from infill_engine.edits.changes import hunk_texts, make
from infill_engine.edits.types import (
    Change,
    Consequences,
    EditedText,
    NextEditRequest,
    NoEditReason,
    PastEdit,
    Proposal,
    ScoredChange,
    applied,
)

# why nothing is proposed where something might follow but is not certain
NOT_CERTAIN = (
    NoEditReason.NO_CONSEQUENCE,
    NoEditReason.LOW_CONFIDENCE,
    NoEditReason.HALF_WRITTEN,
    NoEditReason.AMBIGUOUS,
)
EDIT = re.compile(r"\[\[(.*?) -> (.*?)\]\]", re.DOTALL)


def edited(marked: str, language: str = "python") -> EditedText:
    changes, before, at = [], "", 0
    for found in EDIT.finditer(marked):
        before += marked[at : found.start()]
        changes.append(Change(len(before), len(before) + len(found[1]), found[2]))
        before += found[1]
        at = found.end()
    before += marked[at:]
    history = hunk_texts(before, changes)
    return EditedText(before, make(before, changes), tuple(changes), language, history=history)


def results(edit: EditedText, found: Consequences) -> list[str | None]:
    return [applied(edit.after, proposal.edits) for proposal in found.proposals]


def proposed(text: str, language: str, new: str, history: Iterable[PastEdit]) -> tuple[Proposal, ...]:
    """What is left of a model's change of a whole text."""
    request = NextEditRequest(text, (0, 0), language, "a", tuple(history))
    region = region_of(request, 0, len(text))
    change = ScoredChange(0.0, 0.0, 0.0, 1, 0.0, 0.0, 0, region.lines, tuple(new.split("\n")[:-1]))
    return proposals_of(request, region, [(change, 0.9)], 0.3)
