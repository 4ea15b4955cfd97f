"""infill/candidates: treated as an explicit request, and answered with all details of each candidate.

    → {textDocument: {uri}, position, range?, candidates?, partialResultToken?}
    ← {candidates: [{insertText, range, confidence, partial, steps, source, command}], reason, explanation, elapsedMs,
       budgetMs, model, device, version}

`reason` and `explanation` are null if there are candidates. `version` is the client's document version. With a token,
the canvas is sent as `$/progress` while it is denoised: {step, rows: [{slots: [{text, state, confidence}], source}]}.
"""

from collections.abc import Callable

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from infill_engine.serving.protocol import CanvasPreview, PreviewRow
from infill_engine.types import Answer
from lsp_server.documents.snapshots import Snapshot
from lsp_server.protocol.messages import CandidatesParams, accepted_command
from lsp_server.protocol.positions import to_place, to_span
from lsp_server.protocol.reasons import told
from lsp_server.session import Session
from lsp_server.settings.schema import MOST_CANDIDATES
from lsp_server.suggestions.completions import CompletionQuery
from lsp_server.suggestions.request_builder import Insertion


async def candidates(session: Session, params: CandidatesParams) -> dict[str, object]:
    """Always answer by the deadline. Raises JsonRpcInvalidParams for a range over several lines."""
    arrived, span = session.protocol.arrival(), params.range
    if span is not None and span.start.line != span.end.line:
        raise JsonRpcInvalidParams("range has to begin and end on one line; leave it out to insert at the position")
    wanted = session.workspace.settings.candidates if params.candidates is None else params.candidates
    wanted = min(max(1, wanted), MOST_CANDIDATES)
    token = params.partial_result_token
    snapshot = session.workspace.documents.get(params.text_document.uri)
    insertion = None if snapshot is None else _insertion(snapshot, params, session.client.can.encoding)
    on_preview = None if token is None else _shower(session, token)
    asked = CompletionQuery(insertion, arrived, invoked=True, explicit=True, least=wanted, on_preview=on_preview)
    return _result(session, insertion, await session.completions.answer(asked), wanted)


def _insertion(snapshot: Snapshot, params: CandidatesParams, encoding: str) -> Insertion:
    lines, span = snapshot.lines, params.range
    if span is None:
        place = to_place(lines, params.position, encoding)
        return Insertion(snapshot, place, place)
    start, end = sorted(to_place(lines, place, encoding) for place in (span.start, span.end))
    return Insertion(snapshot, start, end)


def _result(session: Session, insertion: Insertion | None, answer: Answer, wanted: int) -> dict[str, object]:
    snapshot = None if insertion is None else insertion.snapshot
    items: list[dict[str, object]] = []
    if snapshot is not None and insertion is not None:
        span = to_span(snapshot.lines, insertion.start, insertion.end, session.client.can.encoding)
        items = [
            {
                "insertText": candidate.text,
                "range": span,
                "confidence": round(candidate.confidence, 4),
                "partial": candidate.partial,
                "steps": candidate.passes,
                "source": candidate.source.value,
                "command": accepted_command(snapshot.uri, snapshot.client_version, index),
            }
            for index, candidate in enumerate(answer.candidates[:wanted])
        ]
    status = session.reporter.now()
    return {
        "candidates": items,
        **told(answer.reason),
        "elapsedMs": round(answer.elapsed_ms, 1),
        "budgetMs": session.workspace.settings.budget_for(explicit=True),
        "model": status["model"],
        "device": status["device"],
        "version": None if snapshot is None else snapshot.client_version,
    }


def _shower(session: Session, token: int | str) -> Callable[[CanvasPreview], None]:
    def show(preview: CanvasPreview) -> None:
        value = {"step": preview.step, "rows": [_row(row) for row in preview.rows]}
        session.protocol.notify(types.PROGRESS, types.ProgressParams(token, value))

    return show


def _row(row: PreviewRow) -> dict[str, object]:
    slots = zip(row.texts, row.states, row.confidences, strict=False)
    return {
        "slots": [{"text": text, "state": state, "confidence": confidence} for text, state, confidence in slots],
        "source": row.source.value,
    }
