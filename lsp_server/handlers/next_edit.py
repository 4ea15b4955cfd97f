"""infill/nextEdit and textDocument/copilotInlineEdit: the edits that the last edit makes necessary.

See docs/next-edit.md.
"""

import asyncio
import logging
from collections.abc import Sequence

from lsprotocol import types

from infill_engine.budget.deadline import now
from infill_engine.edits.types import Diagnostic, NoEditReason
from infill_engine.process import without_text
from infill_engine.serving.duty_cycle import on_battery
from infill_engine.types import Answer
from lsp_server.documents.snapshots import Snapshot
from lsp_server.protocol.messages import (
    ACCEPT_NEXT_EDIT,
    LATE_NEXT_EDIT,
    DismissedParams,
    NextEditParams,
    PlaceParams,
    ReportedError,
    read_argument,
)
from lsp_server.protocol.positions import to_place, to_span
from lsp_server.protocol.reasons import told
from lsp_server.session import Session
from lsp_server.suggestions.completions import answer_by
from lsp_server.suggestions.next_edits.at_cursor import Complete
from lsp_server.suggestions.next_edits.bursts import offset, place_at
from lsp_server.suggestions.next_edits.model_search import ModelSearch, seconds_for
from lsp_server.suggestions.next_edits.search import Found
from lsp_server.suggestions.next_edits.shown import ShownProposal

MOST_ERRORS = 20  # errors that the model is told; a file with more is still being written

log = logging.getLogger(__name__)


async def next_edit(session: Session, params: NextEditParams) -> dict[str, object]:
    """Return all proposals, or the reason why there are none. Never raises."""
    arrived = session.protocol.arrival()
    snapshot, found = await _found(session, params, params.text_document.version, params.errors)
    return {
        "proposals": [_proposal(session, snapshot, shown) for shown in found.proposals] if snapshot is not None else [],
        **told(found.reason),
        "version": None if snapshot is None else snapshot.client_version,
        "elapsedMs": round((now() - arrived) * 1000, 1),
    }


async def inline_edit(session: Session, params: PlaceParams) -> dict[str, object]:
    """Return the edits of the best proposal, each with the command to run after it was applied."""
    # These clients send the version from before the changes that they send just ahead of the request. They themselves
    # drop edits for any other version than the current one.
    snapshot, found = await _found(session, params, None)
    if snapshot is None or not found.proposals:
        return {"edits": []}
    best = found.proposals[0]
    accepted = {"uri": snapshot.uri, "id": best.id}
    command = types.Command(title="Accepted", command=ACCEPT_NEXT_EDIT, arguments=[accepted])
    document = {"uri": snapshot.uri, "version": snapshot.client_version}
    return {
        "edits": [
            {"text": edit["newText"], "range": edit["range"], "textDocument": document, "command": command}
            for edit in _edits(session, snapshot, best)
        ]
    }


def did_dismiss(session: Session, params: DismissedParams) -> None:
    """Withdraw proposals for good."""
    uri = params.uri if params.text_document is None else params.text_document.uri
    session.edit_log.dismiss(uri, params.ids if params.id is None else [params.id])


def dismissed(session: Session, *arguments: object) -> None:
    """The command form of `did_dismiss`."""
    params = read_argument(arguments, DismissedParams)
    if params is not None:
        did_dismiss(session, params)


def accepted(_session: Session, *_arguments: object) -> None:
    """Do nothing: `EditState.record` recognises an accepted proposal by its edits, which arrive as changes of the text.

    Clients run the command after they have applied the edits. Its `id` says nothing new.
    """


async def _found(
    session: Session, params: PlaceParams, version: int | None, errors: Sequence[ReportedError] = ()
) -> tuple[Snapshot | None, Found]:
    """Return the document and the proposals at a place. A `version` other than the document's is refused."""
    # Read before the first await, because the document may change afterwards.
    snapshot = session.workspace.documents.get(params.text_document.uri)
    refused = session.workspace.refusal(snapshot)
    reason = None if refused is None else NoEditReason(refused.value)
    if not session.workspace.settings.next_edits:
        reason = NoEditReason.DISABLED
    elif snapshot is not None and version not in (None, snapshot.client_version):
        reason = reason or NoEditReason.STALE
    if snapshot is None or reason is not None:
        return snapshot, Found(reason=reason)
    return snapshot, await _searched(session, snapshot, params, errors)


async def _searched(
    session: Session, snapshot: Snapshot, params: PlaceParams, errors: Sequence[ReportedError]
) -> Found:
    cursor = offset(snapshot.lines, to_place(snapshot.lines, params.position, session.client.can.encoding))
    asks_model = session.workspace.settings.next_edit_model and not on_battery()
    try:
        found = await session.next_edits.ask(
            snapshot,
            cursor,
            complete=_completing(session) if asks_model and not session.client.can.takes_late_next_edits else None,
            model=_model_search(session, snapshot, errors) if asks_model else None,
        )
    except asyncio.CancelledError:
        return Found(reason=NoEditReason.CANCELLED)
    except Exception as fault:
        log.error("a request for next edits failed: %s", without_text(fault))
        return Found(reason=NoEditReason.FAILED)
    return _without_deleted(session, snapshot, found)


def _without_deleted(session: Session, snapshot: Snapshot, found: Found) -> Found:
    """Return the proposals that do not bring back what the user has just deleted."""
    lines, deletions = snapshot.lines, session.suggestions.deletions
    kept = tuple(
        shown
        for shown in found.proposals
        if not any(
            deletions.restores(snapshot, place_at(lines, edit.span.start), place_at(lines, edit.span.end), edit.new)
            for edit in shown.proposal.edits
        )
    )
    return Found(kept, found.reason if kept or not found.proposals else NoEditReason.DISMISSED)


def _completing(session: Session) -> Complete:
    """Return what asks for completions. Clients that take late next edits show completions themselves."""

    async def complete(snapshot: Snapshot, cursor: int) -> Answer:
        request = session.requests.completion(snapshot, place_at(snapshot.lines, cursor))
        due = now() + session.workspace.settings.budget_ms / 1000
        return await answer_by(session.engine, snapshot.uri, request, due, explicit=False)

    return complete


def _model_search(session: Session, snapshot: Snapshot, errors: Sequence[ReportedError]) -> ModelSearch:
    workspace, late = session.workspace, session.client.can.takes_late_next_edits
    budget = workspace.settings.budget_for(explicit=True) / 1000
    seconds, wait_seconds = seconds_for(budget, shows_late=late)

    def tell() -> None:
        if late and workspace.documents.is_newest(snapshot):
            session.protocol.notify(LATE_NEXT_EDIT, {"uri": snapshot.uri, "version": snapshot.client_version})

    return ModelSearch(
        engine=session.engine,
        document=snapshot.uri,
        seconds=seconds,
        wait_seconds=wait_seconds,
        on_late=tell,
        diagnostics=tuple(Diagnostic(error.line, error.message) for error in errors[:MOST_ERRORS]),
        project_name=workspace.project_text(snapshot).name,
        show_from=workspace.settings.show_from,
    )


def _proposal(session: Session, snapshot: Snapshot, shown: ShownProposal) -> dict[str, object]:
    return {
        "id": shown.id,
        "kind": shown.proposal.kind.value,
        "label": shown.proposal.label,
        "confidence": round(shown.proposal.confidence, 3),
        "edits": _edits(session, snapshot, shown),
    }


def _edits(session: Session, snapshot: Snapshot, shown: ShownProposal) -> list[dict[str, object]]:
    lines = snapshot.lines
    return [
        {
            "range": to_span(
                lines, place_at(lines, edit.span.start), place_at(lines, edit.span.end), session.client.can.encoding
            ),
            "oldText": edit.span.text,
            "newText": edit.new,
        }
        for edit in shown.proposal.edits
    ]
