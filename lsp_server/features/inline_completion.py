"""textDocument/inlineCompletion. An empty list clears what the editor shows; null, for what was overtaken, keeps it."""

import asyncio
import logging
import traceback
from dataclasses import dataclass

from lsprotocol import types

from infill_engine.types import Answer, InfillRequest, Reason
from lsp_server.convert import to_items, to_place, to_position
from lsp_server.documents import Snapshot
from lsp_server.session import Session
from lsp_server.wire import arrived

REPLY_SECONDS = 0.002  # kept for turning the answer into a reply

log = logging.getLogger(__name__)
_OVERTAKEN = (Reason.SUPERSEDED, Reason.CANCELLED, Reason.WORKER_FAILED)


@dataclass(frozen=True, slots=True)
class _Question:
    """What the engine is asked, and where its answers go: they replace `span`, behind `lead`."""

    request: InfillRequest
    span: types.Range
    lead: str = ""


async def inline_completion(
    session: Session, params: types.InlineCompletionParams
) -> types.InlineCompletionList | None:
    """Answer by the deadline, whatever happens; null for a request that was cancelled or overtaken."""
    due = arrived() + session.settings.budget_ms / 1000 - REPLY_SECONDS
    invoked = params.context.trigger_kind is types.InlineCompletionTriggerKind.Invoked
    # Before the first await: afterwards the document may be another.
    snapshot = session.documents.get(params.text_document.uri)
    try:
        return await _answer(session, snapshot, params, due, invoked=invoked)
    except asyncio.CancelledError:
        return None
    except Exception as fault:
        frames = "".join(traceback.format_tb(fault.__traceback__))
        log.error("an inline completion failed: %s\n%s", type(fault).__name__, frames)
        return None


async def _answer(
    session: Session, snapshot: Snapshot | None, params: types.InlineCompletionParams, due: float, *, invoked: bool
) -> types.InlineCompletionList | None:
    refusal = session.refusal(snapshot, invoked=invoked)
    if refusal is not None or snapshot is None:
        session.reporter.silence(session.engine.status, refusal)
        return to_items((), _here(params.position))
    session.hold_speculation()
    question = _question(session, snapshot, params)
    answer = await session.engine.ask(snapshot.uri, question.request, due)
    if session.documents.get(snapshot.uri) is not snapshot:
        return None
    answer = _above_threshold(answer, 0.0 if invoked else session.settings.show_threshold)
    session.reporter.silence(session.engine.status, answer.reason)
    if answer.reason in _OVERTAKEN:
        return None
    return to_items(answer.candidates, question.span, question.lead)


def _question(session: Session, snapshot: Snapshot, params: types.InlineCompletionParams) -> _Question:
    from lsp_server.request import build_request, build_request_with

    lines, settings, others = snapshot.lines, session.settings, session.neighbours()
    place = to_place(lines, params.position, session.encoding)
    selected = params.context.selected_completion_info
    if selected is not None:
        start = to_place(lines, selected.range.start, session.encoding)
        end = to_place(lines, selected.range.end, session.encoding)
        if start[0] == end[0] == place[0] and start <= place:
            request = build_request_with(snapshot, start, end, selected.text, settings, others)
            return _Question(request, selected.range, selected.text)
    request = build_request(snapshot, place, settings, others)
    return _Question(request, _here(to_position(lines, place, session.encoding)))


def _above_threshold(answer: Answer, threshold: float) -> Answer:
    """All candidates or none: an editor that asks again explicitly must get the same ones first."""
    if not answer.candidates:
        return answer if answer.reason is not None else Answer(reason=Reason.BLANK)
    if max(candidate.confidence for candidate in answer.candidates) < threshold:
        return Answer(reason=Reason.LOW_CONFIDENCE)
    return answer


def _here(position: types.Position) -> types.Range:
    return types.Range(position, position)
