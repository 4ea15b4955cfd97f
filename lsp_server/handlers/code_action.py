"""textDocument/codeAction and codeAction/resolve: alternatives to code that is already there. See docs/alternatives.md.

the user opens the menu      alternatives to the innermost targets, each an action with a preview of the text
the editor asks by itself    only what has a fault, as one action that is computed when it is chosen
an action is chosen          its edit, if the document is still the one that it was made for
"""

import logging
from collections.abc import Sequence

import msgspec
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from infill_engine.budget.deadline import now
from infill_engine.process import without_text
from infill_engine.serving.protocol import State
from infill_engine.types import Reason
from lsp_server.documents.snapshots import Snapshot, text_between
from lsp_server.protocol.positions import to_place, to_span
from lsp_server.protocol.reasons import REASONS
from lsp_server.session import Session
from lsp_server.suggestions.alternatives.offers import LEAST_LEFT, Offer, Replacement, offers_for
from lsp_server.suggestions.alternatives.targets import Extent, Target, Targets, targets_at

REWRITE = "refactor.rewrite.infill"
FIX = "quickfix.infill"
LONGEST_TITLE = 80
CONTENT_MODIFIED, REQUEST_FAILED = -32801, -32803  # error codes of LSP
CHANGED = "The document has changed since the alternatives were computed. Ask for them again."
NONE_FOUND = "There is no alternative that the model finds likely enough. A larger explicitBudgetMs gives it more time."

log = logging.getLogger(__name__)


class _Data(msgspec.Struct, omit_defaults=True):
    """The data of an action: the document, and the edits or else the target whose alternative is computed when chosen.

    `id` is the same for the same edits of the same text; `gain` is in nats per token.
    """

    uri: str
    version: int
    id: str = ""
    gain: float | None = None
    edits: tuple[Replacement, ...] = ()
    target: Target | None = None


async def code_action(session: Session, params: types.CodeActionParams) -> list[types.CodeAction]:
    """Return the actions at a range. Never raises, and answers by the deadline."""
    due = _due(session)
    snapshot = session.workspace.documents.get(params.text_document.uri)
    asked = params.context.trigger_kind is not types.CodeActionTriggerKind.Automatic
    wanted = {kind for kind in (REWRITE, FIX) if _wants(params.context.only, kind)}
    if snapshot is None or session.workspace.refusal(snapshot) is not None or not wanted:
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
        log.error("a request for alternatives failed: %s", without_text(fault))
        return []
    if not session.workspace.documents.is_newest(snapshot):
        return []
    if actions or not params.context.only or not session.client.can.shows_disabled:
        return actions
    # The user wants a refactoring or a fix, and should hear why there is none.
    loading = session.engine.status.state is State.LOADING
    return [_refused(targets.refusal or (REASONS[Reason.LOADING].sentence if loading else NONE_FOUND), wanted)]


async def resolve(session: Session, action: types.CodeAction) -> types.CodeAction:
    """Return the action with its edit. Raises JsonRpcException if the document has changed, or nothing was found."""
    due = _due(session)
    if action.edit is not None:
        return action
    try:
        data = msgspec.convert(action.data, _Data)
    except msgspec.ValidationError as fault:
        raise JsonRpcException(CHANGED, CONTENT_MODIFIED) from fault
    snapshot, edits = session.workspace.documents.get(data.uri), data.edits
    spans = data.target.spans if data.target is not None else tuple(edit.span for edit in edits)
    if snapshot is None or data.version != snapshot.client_version or not _are_in(snapshot, spans):
        raise JsonRpcException(CHANGED, CONTENT_MODIFIED)
    if data.target is not None:
        offers = await offers_for(session.requests, snapshot, data.target, due)
        if not offers:
            raise JsonRpcException(NONE_FOUND, REQUEST_FAILED)
        edits = offers[0].edits
    if not session.workspace.documents.is_newest(snapshot) or any(
        text_between(snapshot.lines, *edit.span) != edit.old for edit in edits
    ):
        raise JsonRpcException(CHANGED, CONTENT_MODIFIED)
    action.edit = workspace_edit(session, snapshot, edits)
    return action


def kind_of(target: Target) -> str:
    """Return the code action kind of a target's alternatives."""
    return FIX if target.fixes else REWRITE


def workspace_edit(session: Session, snapshot: Snapshot, edits: Sequence[Replacement]) -> types.WorkspaceEdit:
    """Return the edits for this version of the document, if the client can be told of versions."""
    changes = [
        types.TextEdit(to_span(snapshot.lines, *edit.span, session.client.can.encoding), edit.new) for edit in edits
    ]
    if not session.client.can.takes_document_changes:
        return types.WorkspaceEdit(changes={snapshot.uri: changes})
    document = types.OptionalVersionedTextDocumentIdentifier(snapshot.uri, snapshot.client_version)
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, list(changes))])


def _due(session: Session) -> float:
    """Return when the reply to the message that is being handled is due, in seconds of `deadline.now`."""
    return session.protocol.arrival() + session.workspace.settings.budget_for(explicit=True) / 1000


async def _computed(
    session: Session, snapshot: Snapshot, targets: Sequence[Target], params: types.CodeActionParams, due: float
) -> list[types.CodeAction]:
    """Return alternatives to as many targets as there is time for, and actions to compute later for the others."""
    whole = due - now()
    actions: list[types.CodeAction] = []
    seen: set[tuple[Replacement, ...]] = set()
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


def _span(session: Session, snapshot: Snapshot, span: types.Range) -> Extent:
    start, end = sorted(
        to_place(snapshot.lines, place, session.client.can.encoding) for place in (span.start, span.end)
    )
    return start, end


def _wants(only: Sequence[str] | None, kind: str) -> bool:
    """Return whether a client that asks for some kinds wants this one, as `refactor` includes `refactor.rewrite`."""
    names = [str(getattr(each, "value", each)) for each in only or ("",)]
    return any(not name or kind == name or kind.startswith(f"{name}.") for name in names)


def _action(session: Session, snapshot: Snapshot, offer: Offer, params: types.CodeActionParams) -> types.CodeAction:
    verb = "Fix" if offer.target.fixes else "Rewrite"
    action = _titled(f"{verb} {offer.target.label}: {offer.preview}", offer.target, params)
    gain = None if offer.gain is None else round(offer.gain, 3)
    data = _Data(snapshot.uri, snapshot.client_version, offer.id_in(snapshot), gain, offer.edits)
    action.data = msgspec.to_builtins(data)
    if not session.client.can.resolves_edits:
        action.edit = workspace_edit(session, snapshot, offer.edits)
    return action


def _later(session: Session, snapshot: Snapshot, target: Target, params: types.CodeActionParams) -> types.CodeAction:
    """Return an action whose alternative is computed when it is chosen."""
    action = _titled(f"{'Fix' if target.fixes else 'Rewrite'} {target.label} with infill", target, params)
    action.data = msgspec.to_builtins(_Data(snapshot.uri, snapshot.client_version, target=target))
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


def _are_in(snapshot: Snapshot, spans: Sequence[Extent]) -> bool:
    """Return whether there are spans, and all of them lie in a document."""
    lines, places = snapshot.lines, [place for span in spans for place in span]
    inside = all(0 <= row < len(lines) and 0 <= column <= len(lines[row]) for row, column in places)
    return bool(spans) and inside and all(start <= end for start, end in spans)
