"""textDocument/didOpen, didChange, didClose: who is told about an edit, each once, in this order.

engine         what was asked about the text before is withdrawn
suggestions    whether the edit accepts what was shown; what it deletes
edit log       records the edit and moves the next edits that are shown
prefetch       computes for the new text before a request arrives
"""

from collections.abc import Sequence

from lsprotocol import types

from infill_engine.models.runtime.allocator import release_freed
from infill_engine.text.languages import recognise
from lsp_server.documents.snapshots import Snapshot, TextChange, change_to
from lsp_server.protocol.positions import to_place
from lsp_server.session import Session


def did_open(session: Session, params: types.DidOpenTextDocumentParams) -> None:
    """Store the document and have the engine read it."""
    session.prefetch.opened(opened(session, params.text_document))


def did_change(session: Session, params: types.DidChangeTextDocumentParams) -> None:
    """Apply the changes. Work on the old text is superseded."""
    changed(session, params.text_document, params.content_changes)


def did_close(session: Session, params: types.DidCloseTextDocumentParams) -> None:
    """Forget the document, unless it is open in another window."""
    closed(session, params.text_document.uri)
    release_freed()  # otherwise the server's heap stays as large as its largest documents made it


def opened(session: Session, document: types.TextDocumentItem) -> Snapshot:
    """Store a document, whether it is a file's or a notebook cell's."""
    language = recognise(str(document.language_id), document.uri, document.text).language
    snapshot = session.workspace.documents.open(document.uri, language, document.text, document.version)
    session.engine.withdraw(snapshot.uri)
    session.edit_log.opened(snapshot.uri)
    return snapshot


def changed(
    session: Session,
    document: types.VersionedTextDocumentIdentifier,
    events: Sequence[types.TextDocumentContentChangeEvent],
) -> None:
    """Apply the changes of the message that is being handled to a document."""
    documents, uri = session.workspace.documents, document.uri
    snapshot = documents.get(uri)
    if snapshot is None:
        return
    for event in events:
        snapshot = documents.apply(uri, _change(snapshot, event, session.client.can.encoding))
    change = documents.settle(uri, document.version, session.protocol.arrival())
    session.engine.withdraw(uri)
    session.suggestions.changed(change)
    session.edit_log.changed(change)
    session.prefetch.changed(change)


def closed(session: Session, uri: str) -> None:
    """Close a document once, and forget it unless it is open in another window."""
    if session.workspace.close(uri):
        session.engine.forget(uri)
        session.suggestions.left(uri)
        session.edit_log.closed(uri)
        session.late_answers.forget()


def _change(before: Snapshot, event: types.TextDocumentContentChangeEvent, encoding: str) -> TextChange:
    if not isinstance(event, types.TextDocumentContentChangePartial):
        return change_to(before, event.text)
    start, end = (to_place(before.lines, position, encoding) for position in (event.range.start, event.range.end))
    return TextChange(event.text, start, end)
