"""textDocument/didOpen, didChange, didClose: track the documents and start computing before a request arrives."""

from collections.abc import Iterator, Sequence

from lsprotocol import types

from infill_engine.models.runtime.allocator import release_freed
from infill_engine.text.languages import recognise
from lsp_server.documents.snapshots import Change, EditKind
from lsp_server.protocol.positions import to_place
from lsp_server.protocol.wire import arrived
from lsp_server.session import Session


def did_open(session: Session, params: types.DidOpenTextDocumentParams) -> None:
    """Store the document and have the engine read it."""
    document = params.text_document
    language = recognise(str(document.language_id), document.uri, document.text).language
    snapshot = session.documents.open(document.uri, language, document.text, document.version)
    session.engine.withdraw(document.uri)
    session.next_edits.opened(document.uri)
    session.read_ahead(snapshot)


def did_change(session: Session, params: types.DidChangeTextDocumentParams) -> None:
    """Apply the changes. Work on the old text is superseded."""
    uri = params.text_document.uri
    changes = _changes(session, uri, params.content_changes)
    snapshot = session.documents.change(uri, changes, params.text_document.version)
    session.engine.withdraw(uri)
    session.hold_speculation()
    if snapshot is not None:
        session.suggestions.changed(snapshot)
        session.next_edits.changed(snapshot)
    if snapshot is not None and snapshot.last_edit is EditKind.INSERTION:
        session.speculate_soon(snapshot, arrived())
    elif snapshot is not None:
        session.warm_soon(snapshot)


def did_close(session: Session, params: types.DidCloseTextDocumentParams) -> None:
    """Forget the document, unless it is open in another window."""
    uri = params.text_document.uri
    if session.documents.close(uri):
        session.engine.forget(uri)
        session.suggestions.left(uri)
        session.next_edits.closed(uri)
        session.project.forget(uri)
        release_freed()  # otherwise the server's heap stays as large as its largest documents made it


def _changes(session: Session, uri: str, events: Sequence[types.TextDocumentContentChangeEvent]) -> Iterator[Change]:
    for event in events:
        snapshot = session.documents.get(uri)
        if snapshot is None:
            return
        if isinstance(event, types.TextDocumentContentChangePartial):
            start = to_place(snapshot.lines, event.range.start, session.encoding)
            end = to_place(snapshot.lines, event.range.end, session.encoding)
            change = Change(event.text, start, end)
        else:
            change = Change(event.text)
        yield change
        after = session.documents.get(uri)  # the change has been applied by the time the next one is requested
        if after is not None:
            session.next_edits.edited(snapshot, change, after, arrived())
