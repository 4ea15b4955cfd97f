"""notebookDocument/didOpen, didChange, didClose: track the cells of notebooks, and their text like any document's."""

from collections.abc import Iterable, Iterator

from lsprotocol import types

from infill_engine.models.runtime.allocator import release_freed
from lsp_server.documents.notebooks import Cell
from lsp_server.handlers import text_sync
from lsp_server.session import Session

SYNC = types.NotebookDocumentSyncOptions([types.NotebookDocumentFilterWithNotebook("*")])


def did_open(session: Session, params: types.DidOpenNotebookDocumentParams) -> None:
    """Store the cells. They are read once the cursor rests in one: a notebook may have hundreds."""
    session.workspace.notebooks.open(params.notebook_document.uri, _cells(params.notebook_document.cells))
    for document in params.cell_text_documents:
        text_sync.opened(session, document)


def did_change(session: Session, params: types.DidChangeNotebookDocumentParams) -> None:
    """Apply changes to the order of the cells, then those to their text."""
    changes = params.change.cells
    if changes is None:
        return
    if (structure := changes.structure) is not None:
        array = structure.array
        session.workspace.notebooks.splice(
            params.notebook_document.uri, array.start, array.delete_count, _cells(array.cells or ())
        )
        for document in structure.did_open or ():
            text_sync.opened(session, document)
        for closed in structure.did_close or ():
            text_sync.closed(session, closed.uri)
    for text in changes.text_content or ():
        text_sync.changed(session, text.document, text.changes)


def did_close(session: Session, params: types.DidCloseNotebookDocumentParams) -> None:
    """Forget the notebook and its cells."""
    session.workspace.notebooks.close(params.notebook_document.uri)
    for document in params.cell_text_documents:
        text_sync.closed(session, document.uri)
    release_freed()


def _cells(cells: Iterable[types.NotebookCell]) -> Iterator[Cell]:
    return (Cell(cell.document, cell.kind is types.NotebookCellKind.Code) for cell in cells)
