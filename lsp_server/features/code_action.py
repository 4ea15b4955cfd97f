"""textDocument/codeAction and codeAction/resolve: alternatives to code that is already there. See docs/alternatives.md.

the user opens the menu      alternatives to the innermost targets, each an action with a preview of the text
the editor asks by itself    only what has a fault, as one action that is computed when it is chosen
an action is chosen          its edit, if the document is still the one that it was made for
"""

import logging
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from infill_engine.budget.deadline import now
from infill_engine.serving.protocol import State
from lsp_server.documents.snapshots import Snapshot, text_between
from lsp_server.protocol.positions import to_place, to_span
from lsp_server.session import Session
from lsp_server.suggestions.alternatives.offers import LEAST_LEFT, Edit, Offer, offers_for
from lsp_server.suggestions.alternatives.targets import Span, Target, Targets, targets_at
from lsp_server.suggestions.completions import REPLY_SECONDS

REWRITE = "refactor.rewrite.infill"
FIX = "quickfix.infill"
LONGEST_TITLE = 80
CONTENT_MODIFIED, REQUEST_FAILED = -32801, -32803  # error codes of LSP
CHANGED = "The document has changed since the alternatives were computed. Ask for them again."
LOADING = "The model is still being loaded."
NONE_FOUND = "There is no alternative that the model finds likely enough. A larger rewriteBudgetMs gives it more time."

log = logging.getLogger(__name__)


async def code_action(session: Session, params: types.CodeActionParams, arrived: float) -> list[types.CodeAction]:
    """Return the actions at a range. Never raises, and answers by the deadline."""
    due = arrived + session.workspace.settings.rewrite_budget_ms / 1000 - REPLY_SECONDS
    snapshot = session.workspace.documents.get(params.text_document.uri)
    asked = params.context.trigger_kind is not types.CodeActionTriggerKind.Automatic
    wanted = {kind for kind in (REWRITE, FIX) if _wants(params.context.only, kind)}
    if snapshot is None or session.requests.refusal(snapshot) is not None or not wanted:
        return []
    session.prefetch.read_project(snapshot)
    try:
        targets = _targets(session, snapshot, params)
        if not asked:
            targets = Targets(tuple(target for target in targets.found if target.fixes and not target.error_elsewhere))
        chosen = [target for target in targets.found if kind_of(target) in wanted]
        if not asked:
            return [_later(session, snapshot, target, params) for target in chosen]
        actions = await _computed(session, snapshot, chosen, params, due)
    except Exception as fault:
        frames = "".join(traceback.format_tb(fault.__traceback__))
        log.error("a request for alternatives failed: %s\n%s", type(fault).__name__, frames)
        return []
    if not session.workspace.documents.is_newest(snapshot):
        return []
    if actions or not params.context.only or not session.client.can.shows_disabled:
        return actions
    # The user wants a refactoring or a fix, and should hear why there is none.
    loading = session.engine.status.state is State.LOADING
    return [_refused(targets.refusal or (LOADING if loading else NONE_FOUND), wanted)]


async def resolve(session: Session, action: types.CodeAction, arrived: float) -> types.CodeAction:
    """Return the action with its edit. Raises JsonRpcException if the document has changed, or nothing was found."""
    if action.edit is not None:
        return action
    data = action.data if isinstance(action.data, Mapping) else {}
    snapshot = session.workspace.documents.get(str(data.get("uri")))
    if snapshot is None or data.get("version") != snapshot.client_version:
        raise JsonRpcException(CHANGED, CONTENT_MODIFIED)
    edits = _read_edits(data)
    if edits is None:
        due = arrived + session.workspace.settings.rewrite_budget_ms / 1000 - REPLY_SECONDS
        offers = await _again(session, snapshot, data, due)
        if not offers:
            raise JsonRpcException(NONE_FOUND, REQUEST_FAILED)
        edits = offers[0].edits
    if not session.workspace.documents.is_newest(snapshot) or not _still_there(snapshot, edits):
        raise JsonRpcException(CHANGED, CONTENT_MODIFIED)
    action.edit = workspace_edit(session, snapshot, edits)
    return action


def kind_of(target: Target) -> str:
    """Return the code action kind of a target's alternatives."""
    return FIX if target.fixes else REWRITE


def workspace_edit(session: Session, snapshot: Snapshot, edits: Sequence[Edit]) -> types.WorkspaceEdit:
    """Return the edits for this version of the document, if the client can be told of versions."""
    changes = [
        types.TextEdit(to_span(snapshot.lines, *edit.span, session.client.can.encoding), edit.new) for edit in edits
    ]
    if not session.client.can.takes_document_changes:
        return types.WorkspaceEdit(changes={snapshot.uri: changes})
    document = types.OptionalVersionedTextDocumentIdentifier(snapshot.uri, snapshot.client_version)
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, list(changes))])


async def _computed(
    session: Session, snapshot: Snapshot, targets: Sequence[Target], params: types.CodeActionParams, due: float
) -> list[types.CodeAction]:
    """The alternatives to as many targets as there is time for; for the others, actions to compute when chosen."""
    whole = due - now()
    actions: list[types.CodeAction] = []
    seen: set[tuple[Edit, ...]] = set()
    for number, target in enumerate(targets):
        if number and due - now() < LEAST_LEFT * whole:
            actions.append(_later(session, snapshot, target, params))
            continue
        for offer in await offers_for(session.requests, snapshot, target, due):
            if offer.edits not in seen:
                seen.add(offer.edits)
                actions.append(_action(session, snapshot, offer, params))
    return actions


def _targets(session: Session, snapshot: Snapshot, params: types.CodeActionParams) -> Targets:
    diagnostics = [_span(session, snapshot, each.range) for each in params.context.diagnostics]
    return targets_at(snapshot, _span(session, snapshot, params.range), diagnostics)


def _span(session: Session, snapshot: Snapshot, span: types.Range) -> Span:
    start, end = sorted(
        to_place(snapshot.lines, place, session.client.can.encoding) for place in (span.start, span.end)
    )
    return start, end


def _wants(only: Sequence[str] | None, kind: str) -> bool:
    """Whether a client that asks for some kinds of actions wants this kind: `refactor` includes `refactor.rewrite`."""
    names = [str(getattr(each, "value", each)) for each in only or ("",)]
    return any(not name or kind == name or kind.startswith(f"{name}.") for name in names)


def _action(session: Session, snapshot: Snapshot, offer: Offer, params: types.CodeActionParams) -> types.CodeAction:
    verb = "Fix" if offer.target.fixes else "Rewrite"
    edits = [
        {"range": to_span(snapshot.lines, *edit.span, "utf-32"), "old": edit.old, "new": edit.new}
        for edit in offer.edits
    ]
    gain = None if offer.gain is None else round(offer.gain, 3)
    data = {**_data(snapshot), "id": offer.id_in(snapshot), "edits": edits, "gain": gain}
    action = _titled(f"{verb} {offer.target.label}: {offer.preview}", offer.target, params)
    action.data = data
    if not session.client.can.resolves_edits:
        action.edit = workspace_edit(session, snapshot, offer.edits)
    return action


def _later(session: Session, snapshot: Snapshot, target: Target, params: types.CodeActionParams) -> types.CodeAction:
    """Return an action whose alternative is computed when it is chosen."""
    title = f"{'Fix' if target.fixes else 'Rewrite'} {target.label} with infill"
    action = _titled(title, target, params)
    spans = [to_span(snapshot.lines, *span, "utf-32") for span in target.spans]
    action.data = {
        **_data(snapshot),
        "spans": spans,
        "label": target.label,
        "fixes": target.fixes,
        "broken": target.broken,
        "repeats": target.repeats,
        "severalLines": target.several_lines,
    }
    if not session.client.can.resolves_edits:
        action.disabled = types.CodeActionDisabled("The editor cannot ask for an edit when an action is chosen.")
    return action


def _titled(title: str, target: Target, params: types.CodeActionParams) -> types.CodeAction:
    short = title if len(title) <= LONGEST_TITLE else title[: LONGEST_TITLE - 1] + "…"
    about = [params.context.diagnostics[number] for number in target.diagnostics]
    return types.CodeAction(short, kind_of(target), diagnostics=about or None)


def _refused(reason: str, wanted: set[str]) -> types.CodeAction:
    title, kind = ("Rewrite with infill", REWRITE) if REWRITE in wanted else ("Fix with infill", FIX)
    return types.CodeAction(title, kind, disabled=types.CodeActionDisabled(reason))


def _data(snapshot: Snapshot) -> dict[str, Any]:
    return {"uri": snapshot.uri, "version": snapshot.client_version}


def _read_edits(data: Mapping[str, Any]) -> tuple[Edit, ...] | None:
    """The edits in an action's data; None if there are none. Raises JsonRpcException for data of another form."""
    if "edits" not in data:
        return None
    try:
        return tuple(Edit(_read_span(each["range"]), str(each["old"]), str(each["new"])) for each in data["edits"])
    except (KeyError, TypeError, ValueError) as fault:
        raise JsonRpcException(CHANGED, CONTENT_MODIFIED) from fault


async def _again(session: Session, snapshot: Snapshot, data: Mapping[str, Any], due: float) -> list[Offer]:
    try:
        spans = tuple(_read_span(span) for span in data["spans"])
        fixes, broken, repeats, several = (bool(data[name]) for name in ("fixes", "broken", "repeats", "severalLines"))
        target = Target(str(data["label"]), spans, fixes, broken, repeats, several)
    except (KeyError, TypeError, ValueError) as fault:
        raise JsonRpcException(CHANGED, CONTENT_MODIFIED) from fault
    if not spans or not all(_is_in(snapshot, span) for span in spans):
        raise JsonRpcException(CHANGED, CONTENT_MODIFIED)
    return await offers_for(session.requests, snapshot, target, due)


def _read_span(span: Mapping[str, Any]) -> Span:
    start, end = ((int(place["line"]), int(place["character"])) for place in (span["start"], span["end"]))
    return start, end


def _is_in(snapshot: Snapshot, span: Span) -> bool:
    lines, (start, end) = snapshot.lines, span
    return (0, 0) <= start <= end and end[0] < len(lines) and all(column <= len(lines[row]) for row, column in span)


def _still_there(snapshot: Snapshot, edits: Sequence[Edit]) -> bool:
    """Return whether the document has the announced text in every range."""
    return all(_is_in(snapshot, edit.span) and text_between(snapshot.lines, *edit.span) == edit.old for edit in edits)
