"""What is not shown unasked at a place, whatever its confidence: what the user typed past, or has just deleted."""

from dataclasses import replace

from infill_engine.types import Answer, Reason
from lsp_server.documents.snapshots import Snapshot
from lsp_server.protocol.positions import Place
from lsp_server.suggestions.outcomes import SuggestionTracker


def unasked(
    suggestions: SuggestionTracker, snapshot: Snapshot, start: Place, end: Place, lead: str, answer: Answer
) -> Answer:
    """Return the part of an answer that may be shown unasked, where `lead` and a text would replace `start` to `end`.

    If the best text brings back what was deleted there, nothing is shown: the user is about to write something else.
    """
    dismissals, deletions = suggestions.dismissals, suggestions.deletions
    past = [dismissals.was_typed_past(snapshot, start, end, lead + each.text) for each in answer.candidates]
    kept = tuple(each for each, is_past in zip(answer.candidates, past, strict=True) if not is_past)
    if answer.candidates and not kept:
        return Answer(reason=Reason.DISMISSED)
    if kept and deletions.restores(snapshot, start, end, lead + kept[0].text):
        return Answer(reason=Reason.DELETION)
    return replace(answer, candidates=kept)
