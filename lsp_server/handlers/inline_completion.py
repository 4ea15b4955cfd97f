"""textDocument/inlineCompletion. An empty list clears what the editor shows; null (superseded) keeps it."""

from lsprotocol import types

from infill_engine.types import OVERTAKEN
from lsp_server.documents.snapshots import Snapshot
from lsp_server.protocol.messages import accepted_command
from lsp_server.protocol.positions import to_place, to_span
from lsp_server.session import Session
from lsp_server.suggestions.completions import CompletionQuery
from lsp_server.suggestions.request_builder import Insertion


async def inline_completion(
    session: Session, params: types.InlineCompletionParams
) -> types.InlineCompletionList | None:
    """Always answer by the deadline. Returns null for a request that was cancelled or superseded.

    The items are plain strings because editors disagree about snippets. They always have a range because editors
    without one paste blindly. Each item carries the command that reports its acceptance for this version of the
    document.
    """
    arrived = session.protocol.arrival()
    invoked = params.context.trigger_kind is types.InlineCompletionTriggerKind.Invoked
    snapshot = session.workspace.documents.get(params.text_document.uri)
    insertion = None if snapshot is None else _insertion(snapshot, params, session.client.can.encoding)
    if snapshot is None or insertion is None:
        await session.completions.answer(CompletionQuery(None, arrived, invoked, explicit=invoked))
        return types.InlineCompletionList(items=[])
    late = session.late_answers.at(insertion, invoked=invoked)
    explicit, on_late = late.explicit, late.on_late
    answer = await session.completions.answer(
        CompletionQuery(insertion, arrived, invoked=explicit, explicit=explicit, late=late.again, on_late=on_late)
    )
    if answer.reason in OVERTAKEN:  # the client keeps what it shows
        return None
    late.replied(answer)
    span = to_span(snapshot.lines, insertion.start, insertion.end, session.client.can.encoding)
    return types.InlineCompletionList(
        items=[
            types.InlineCompletionItem(
                insert_text=insertion.lead + candidate.text,
                range=span,
                command=accepted_command(snapshot.uri, snapshot.client_version, index),
            )
            for index, candidate in enumerate(answer.candidates)
        ]
    )


def _insertion(snapshot: Snapshot, params: types.InlineCompletionParams, encoding: str) -> Insertion:
    """Return where to insert.

    If the user has selected a list item, its text and the candidate replace the item's range. Otherwise the candidate
    goes at the cursor.
    """
    lines = snapshot.lines
    place = to_place(lines, params.position, encoding)
    selected = params.context.selected_completion_info
    if selected is not None:
        start = to_place(lines, selected.range.start, encoding)
        end = to_place(lines, selected.range.end, encoding)
        if start[0] == end[0] == place[0] and start <= place:
            return Insertion(snapshot, start, end, selected.text)
    return Insertion(snapshot, place, place)
