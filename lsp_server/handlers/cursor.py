"""infill/cursor: the cursor has come to rest. The engine reads the text there ahead of a request.

    → {textDocument: {uri, version?}, position, options?: {tabSize, insertSpaces}}

`options` say how the editor indents the document. A client need not send it, and it has no response. It is ignored if
`version` is not the document's newest.
"""

from lsp_server.protocol.messages import CursorParams
from lsp_server.protocol.positions import to_place
from lsp_server.session import Session

WIDEST = 16  # columns of a level of indentation


def cursor(session: Session, params: CursorParams) -> None:
    """Read ahead at the place. Documents that are not completed are ignored."""
    snapshot = session.workspace.documents.get(params.text_document.uri)
    options = params.options
    if snapshot is not None and options is not None and 0 < options.tab_size <= WIDEST:
        session.workspace.indents[snapshot.uri] = " " * options.tab_size if options.insert_spaces else "\t"
    if snapshot is not None and params.text_document.version in (None, snapshot.client_version):
        place = to_place(snapshot.lines, params.position, session.client.can.encoding)
        session.edit_log.rests(snapshot.uri, place[0])
        session.prefetch.cursor_rested(snapshot, place)
