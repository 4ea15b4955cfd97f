"""Code shared by all completion methods: from a document to the engine's answer, always by the deadline."""

import asyncio
import logging
import traceback
from dataclasses import dataclass, replace

from infill_engine.budget.deadline import now
from infill_engine.types import Answer, Candidate, Reason, Source
from lsp_server.documents.snapshots import Change, Snapshot, edited_lines
from lsp_server.engine.requests import OnLate, OnPreview
from lsp_server.protocol.positions import Place
from lsp_server.session import Session
from lsp_server.suggestions.answers import answer_by, worth_showing

REPLY_SECONDS = 0.002  # reserved for turning the answer into a reply
OVERTAKEN = (Reason.SUPERSEDED, Reason.CANCELLED)  # answered with null, so that the client keeps what it shows

Listeners = tuple[OnPreview | None, OnLate | None]
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Insertion:
    """Where candidates go: `lead` and the candidate replace the text from `start` to `end`, in one row."""

    snapshot: Snapshot
    start: Place
    end: Place
    lead: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer, with candidates or with a reason."""

    answer: Answer
    elapsed_ms: float


async def answer_request(
    session: Session,
    insertion: Insertion | None,
    arrived: float,
    *,
    invoked: bool,
    unsure: bool,
    least: int = 0,
    on_preview: OnPreview | None = None,
    on_late: OnLate | None = None,
    late: bool = False,
) -> Reply:
    """Ask for at least `least` candidates. Return by the deadline, counted from `arrived`, and never raise.

    `insertion`: in the current document; None if it is not open. `invoked`: the user asked explicitly, so a slow
    request is shown in the status. `unsure`: also return low-confidence candidates. `late`: the client was told to ask
    again.
    """
    due = arrived + session.settings.budget_ms / 1000 - REPLY_SECONDS
    ticket = session.reporter.asked(waited_for=invoked)
    try:
        listeners = (on_preview, on_late)
        answer = await _answer(session, insertion, due, least, listeners, invoked=invoked, unsure=unsure)
    except asyncio.CancelledError:
        answer = Answer(reason=Reason.CANCELLED)
    except Exception as fault:
        frames = "".join(traceback.format_tb(fault.__traceback__))
        log.error("a request failed: %s\n%s", type(fault).__name__, frames)
        answer = Answer(reason=Reason.WORKER_FAILED)
    elapsed_ms = (now() - arrived) * 1000
    session.reporter.answered(ticket, answer.reason, elapsed_ms)
    session.counters.answered(answer.reason, elapsed_ms)
    if insertion is not None and answer.candidates:
        texts = [insertion.lead + candidate.text for candidate in answer.candidates]
        session.suggestions.shown(insertion.snapshot, insertion.start, insertion.end, texts, unsure=unsure, late=late)
    return Reply(answer, elapsed_ms)


async def _answer(
    session: Session,
    insertion: Insertion | None,
    due: float,
    least: int,
    listeners: Listeners,
    *,
    invoked: bool,
    unsure: bool,
) -> Answer:
    """Return the engine's answer if it is worth showing, or else the reason why not."""
    snapshot = None if insertion is None else insertion.snapshot
    reason = session.refusal(snapshot, None if insertion is None or invoked else insertion.end)
    if insertion is None or reason is not None:
        return Answer(reason=reason or Reason.UNSUPPORTED)
    session.hold_speculation()
    uri, edited, place = insertion.snapshot.uri, insertion.snapshot, insertion.start
    if insertion.lead or insertion.start != insertion.end:
        edited = edited_lines(edited, Change(insertion.lead, insertion.start, insertion.end))
        place = edited.cursor
    request = session.request_at(edited, place, least)
    answer = await answer_by(session.engine, uri, request, due, *listeners, unsure=unsure)
    if session.documents.get(uri) is not snapshot:
        return Answer(reason=Reason.SUPERSEDED)
    answer = worth_showing(answer if invoked else without_typed_past(session, insertion, answer), unsure=unsure)
    empty = not insertion.lead and insertion.start == insertion.end
    rest = session.suggestions.rest(insertion.snapshot, place) if empty and answer.reason not in OVERTAKEN else ""
    return kept_first(answer, rest) if rest else answer


def kept_first(answer: Answer, rest: str) -> Answer:
    """Return an answer that begins with `rest`, so that what is shown stays while the user types along it."""
    if answer.candidates and answer.candidates[0].text.startswith(rest):
        return answer
    others = tuple(each for each in answer.candidates if each.text != rest)
    known = next((each for each in answer.candidates if each.text == rest), None)
    first = known or Candidate(rest, answer.show_from, source=Source.TYPED_THROUGH)
    return replace(answer, candidates=(first, *others), reason=None)


def without_typed_past(session: Session, insertion: Insertion, answer: Answer) -> Answer:
    """Return an answer without the texts that the user typed past at this place."""
    snapshot, start, end, lead = insertion.snapshot, insertion.start, insertion.end, insertion.lead
    is_past = session.dismissals.was_typed_past
    kept = tuple(each for each in answer.candidates if not is_past(snapshot, start, end, lead + each.text))
    if answer.candidates and not kept:
        return Answer(reason=Reason.DISMISSED)
    return answer if len(kept) == len(answer.candidates) else replace(answer, candidates=kept)
