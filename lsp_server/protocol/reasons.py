"""Why nothing is suggested, in words that are true in every client.

A client may add which of its commands or settings helps.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from infill_engine.edits.types import NoEditReason
from infill_engine.types import Reason


@dataclass(frozen=True, slots=True)
class Explanation:
    """A reason in a few `words`, for a status line, and as a `sentence`."""

    words: str
    sentence: str


REASONS: Mapping[Reason, Explanation] = {
    Reason.BLANK: Explanation("nothing to add", "The model found nothing worth adding here."),
    Reason.LOW_CONFIDENCE: Explanation("not sure enough", "No candidate is sure enough to appear unasked."),
    Reason.ONE_KEY: Explanation(
        "only one character", "The best candidate is a single character, as quick to type as to accept."
    ),
    Reason.DEADLINE: Explanation("out of time", "Time ran out before a candidate was finished."),
    Reason.CANCELLED: Explanation("request withdrawn", "The editor withdrew the request."),
    Reason.SUPERSEDED: Explanation("overtaken by typing", "A newer request or edit took its place."),
    Reason.DELETION: Explanation(
        "after a deletion", "Nothing is suggested right after a deletion, and deleted text is not suggested again."
    ),
    Reason.UNDO: Explanation("after an undo", "Nothing is suggested right after undo or redo."),
    Reason.DISMISSED: Explanation("dismissed here", "You dismissed the suggestion or typed past it."),
    Reason.DISABLED: Explanation(
        "switched off here", "The settings `enable` or `languages` turn suggestions off here."
    ),
    Reason.EXCLUDED: Explanation(
        "file excluded", "Files that tend to hold secrets or that the setting `excludes` names are not read."
    ),
    Reason.UNSUPPORTED: Explanation("document not supported", "The document is not text, too large, or not open."),
    Reason.LOADING: Explanation("still loading", "The model is being loaded."),
    Reason.WORKER_FAILED: Explanation("engine stopped", "The engine stopped or could not be started."),
    Reason.FAILED: Explanation("an error", "The request failed. The server's log names the error."),
}

NO_EDIT_REASONS: Mapping[NoEditReason, Explanation] = {
    NoEditReason.NOTHING_EDITED: Explanation(
        "nothing has been edited yet", "The document has not been edited since it was opened."
    ),
    NoEditReason.NO_CONSEQUENCE: Explanation("everything still fits", "The last edit makes no other edit necessary."),
    NoEditReason.HALF_WRITTEN: Explanation(
        "the edit is still being written", "The last edit broke the syntax, so its other half is still to come."
    ),
    NoEditReason.AMBIGUOUS: Explanation(
        "other uses of the name may mean something else",
        "A name was changed where it is defined, and its other uses may mean something else.",
    ),
    NoEditReason.LOW_CONFIDENCE: Explanation("not sure enough", "No proposal is sure enough to be shown."),
    NoEditReason.UNDO: Explanation("the last change was undone", "The last change led back to an earlier text."),
    NoEditReason.BULK: Explanation(
        "too much changed at once", "Nothing follows from a paste, a large change, or many changes at once."
    ),
    NoEditReason.DISMISSED: Explanation(
        "dismissed, or you have replaced this text yourself",
        "You dismissed all proposals, or they would bring back text that you replaced or deleted.",
    ),
    NoEditReason.DISABLED: Explanation("switched off here", "The settings turn next edits off here."),
    NoEditReason.EXCLUDED: REASONS[Reason.EXCLUDED],
    NoEditReason.UNSUPPORTED: Explanation(
        "this document is not supported",
        "There are no rules for the document's language, or the document is too large or not open.",
    ),
    NoEditReason.TOO_LARGE: Explanation(
        "the document is too long to be sure of all places",
        "The edits may reach beyond the part of the document that is read.",
    ),
    NoEditReason.STALE: Explanation("the document has changed", "The request was for another version of the document."),
    NoEditReason.SUPERSEDED: REASONS[Reason.SUPERSEDED],
    NoEditReason.CANCELLED: REASONS[Reason.CANCELLED],
    NoEditReason.LOADING: Explanation(
        "nothing is certain, and the model is still loading",
        "No edit follows for certain, and the model is being loaded.",
    ),
    NoEditReason.DEADLINE: Explanation(
        "nothing is certain, and the model found nothing in time",
        "No edit follows for certain, and the model found none in time.",
    ),
    NoEditReason.WORKER_FAILED: Explanation(
        "nothing is certain, and the engine has stopped",
        "No edit follows for certain, and the engine stopped or could not be started.",
    ),
    NoEditReason.FAILED: Explanation("an error", "The search for next edits failed. The server's log names the error."),
}


def told(reason: Reason | NoEditReason | None) -> dict[str, object]:
    """Return the fields of an answer or a notification that say why there is nothing; both are null without a reason.

    {reason, explanation: {words, sentence}}
    """
    if reason is None:
        return {"reason": None, "explanation": None}
    found = NO_EDIT_REASONS[reason] if isinstance(reason, NoEditReason) else REASONS[reason]
    return {"reason": reason.value, "explanation": asdict(found)}
