"""textDocument/didOpen, didChange, didClose: track the documents and start computing before a request arrives."""

from collections.abc import Iterator, Sequence

from lsprotocol import types

from infill_engine.models.runtime.allocator import release_freed
from infill_engine.text.languages import recognise
from lsp_server.documents.snapshots import Change, Snapshot, change_to
from lsp_server.protocol.positions import to_place
from lsp_server.session import Session


def did_open(session: Session, params: types.DidOpenTextDocumentParams) -> None:
    """Store the document and have the engine read it."""
    session.prefetch.opened(opened(session, params.text_document))


def did_change(session: Session, params: types.DidChangeTextDocumentParams, arrived: float) -> None:
    """Apply the changes. Work on the old text is superseded."""
    changed(session, params.text_document, params.content_changes, arrived)


def did_close(session: Session, params: types.DidCloseTextDocumentParams) -> None:
    """Forget the document, unless it is open in another window."""
    closed(session, params.text_document.uri)
    release_freed()  # otherwise the server's heap stays as large as its largest documents made it


def opened(session: Session, document: types.TextDocumentItem) -> Snapshot:
    """Store a document, whether it is a file's or a notebook cell's."""
    language = recognise(str(document.language_id), document.uri, document.text).language
    snapshot = session.workspace.documents.open(document.uri, language, document.text, document.version)
    session.engine.withdraw(document.uri)
    session.next_edits.opened(document.uri)
    return snapshot


def changed(
    session: Session,
    document: types.VersionedTextDocumentIdentifier,
    events: Sequence[types.TextDocumentContentChangeEvent],
    arrived: float,
) -> None:
    """Apply changes that `arrived` at this time (seconds of `deadline.now`) to a document."""
    uri = document.uri
    snapshot = session.workspace.documents.change(uri, _changes(session, uri, events, arrived), document.version)
    session.engine.withdraw(uri)
    if snapshot is not None:
        session.requests.suggestions.changed(snapshot)
        session.next_edits.changed(snapshot)
        session.prefetch.edited(snapshot, arrived)


def closed(session: Session, uri: str) -> None:
    """Close a document once, and forget it unless it is open in another window."""
    if session.workspace.documents.close(uri):
        session.engine.forget(uri)
        session.requests.suggestions.left(uri)
        session.next_edits.closed(uri)
        session.workspace.project.forget(uri)
        session.late_answers.forget()


def _changes(
    session: Session, uri: str, events: Sequence[types.TextDocumentContentChangeEvent], arrived: float
) -> Iterator[Change]:
    for event in events:
        snapshot = session.workspace.documents.get(uri)
        if snapshot is None:
            return
        if isinstance(event, types.TextDocumentContentChangePartial):
            start = to_place(snapshot.lines, event.range.start, session.client.can.encoding)
            end = to_place(snapshot.lines, event.range.end, session.client.can.encoding)
            change = Change(event.text, start, end)
        else:
            change = change_to(snapshot, event.text)
        yield change
        # The change has been applied by the time the next one is requested.
        after = session.workspace.documents.get(uri)
        if after is not None:
            session.next_edits.edited(snapshot, change, after, arrived)
