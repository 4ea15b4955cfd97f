"""textDocument/inlineCompletion. An empty list clears what the editor shows; null (superseded) keeps it."""

from functools import partial

from lsprotocol import types

from lsp_server.documents.snapshots import Snapshot
from lsp_server.protocol.positions import to_items, to_place, to_span
from lsp_server.session import Session
from lsp_server.suggestions.completions import OVERTAKEN, Question, answer_request, at, instead_of


async def inline_completion(
    session: Session, params: types.InlineCompletionParams
) -> types.InlineCompletionList | None:
    """Always answer by the deadline. Returns null for a request that was cancelled or superseded."""
    invoked = params.context.trigger_kind is types.InlineCompletionTriggerKind.Invoked
    uri, row = params.text_document.uri, params.position.line
    reply = await answer_request(
        session, uri, row, partial(_question, session, params), invoked=invoked, unsure=invoked
    )
    if reply.answer.reason in OVERTAKEN:
        return None
    if reply.snapshot is None or reply.question is None or not reply.answer.candidates:
        return types.InlineCompletionList(items=[])
    question, snapshot = reply.question, reply.snapshot
    span = to_span(snapshot.lines, question.start, question.end, session.encoding)
    return to_items(reply.answer.candidates, span, question.lead, uri, snapshot.client_version)


def _question(session: Session, params: types.InlineCompletionParams, snapshot: Snapshot) -> Question:
    lines = snapshot.lines
    place = to_place(lines, params.position, session.encoding)
    selected = params.context.selected_completion_info
    if selected is not None:
        start = to_place(lines, selected.range.start, session.encoding)
        end = to_place(lines, selected.range.end, session.encoding)
        if start[0] == end[0] == place[0] and start <= place:
            return instead_of(session, snapshot, start, end, selected.text)
    return at(session, snapshot, place)
