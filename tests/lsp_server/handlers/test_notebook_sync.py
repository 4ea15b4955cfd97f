"""Notebooks, as VS Code sends them to a real server."""

from collections.abc import Iterator
from typing import Any

import pytest
from capabilities import NEOVIM
from editor import CURSOR, Editor, editor
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOTEBOOK = "file:///project/notes.ipynb"
SCRIPT = {
    "rules": [
        {"before": "import os\n\n# where\n\nnames = ", "candidates": ["os.listdir()"]},
        {"before": "import os\n\nnames = ", "candidates": ["moved(up)"]},
        {"before": "names = ", "candidates": ["alone(1)"]},
    ]
}


def uri_of(name: str) -> str:
    return f"vscode-notebook-cell:/project/notes.ipynb#{name}"


def cells(*names: str) -> list[types.NotebookCell]:
    """Cells of code, but for those whose name begins with "prose"."""
    prose, code = types.NotebookCellKind.Markup, types.NotebookCellKind.Code
    return [types.NotebookCell(prose if name.startswith("prose") else code, uri_of(name)) for name in names]


class Book:
    """A notebook in an editor: the cells `one`, `prose` and `two`, and the cursor at the end of the last."""

    def __init__(self, shown: Editor) -> None:
        self.editor = shown
        items = [self._item("one", "import os"), self._item("prose", "where"), self._item("two", "names = ")]
        document = types.NotebookDocument(NOTEBOOK, "jupyter-notebook", 1, cells("one", "prose", "two"))
        shown.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(document, items))
        shown.texts[uri_of("two")] = f"names = {CURSOR}"

    async def ask(self) -> list[str] | None:
        return await self.editor.ask(uri_of("two"))

    def splice(self, start: int, deleted: int, *names: str, **more: Any) -> None:
        array = types.NotebookCellArrayChange(start, deleted, cells(*names))
        self.change(structure=types.NotebookDocumentCellChangeStructure(array, **more))

    def edit(self, name: str, text: str) -> None:
        document = types.VersionedTextDocumentIdentifier(2, uri_of(name))
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self.change(text_content=[types.NotebookDocumentCellContentChanges(document, [whole])])

    def change(self, **changes: Any) -> None:
        event = types.NotebookDocumentChangeEvent(cells=types.NotebookDocumentCellChanges(**changes))
        document = types.VersionedNotebookDocumentIdentifier(2, NOTEBOOK)
        self.editor.client.notebook_document_did_change(types.DidChangeNotebookDocumentParams(document, event))

    def close(self) -> None:
        document = types.NotebookDocumentIdentifier(NOTEBOOK)
        texts = [types.TextDocumentIdentifier(uri_of(name)) for name in ("one", "prose", "two")]
        self.editor.client.notebook_document_did_close(types.DidCloseNotebookDocumentParams(document, texts))

    def _item(self, name: str, text: str) -> types.TextDocumentItem:
        return types.TextDocumentItem(uri_of(name), "markdown" if name == "prose" else "python", 1, text)


@pytest.fixture
def book(vscode: Editor) -> Iterator[Book]:
    made = Book(vscode)
    yield made
    made.close()


async def test_a_cell_is_completed_with_the_cells_above_it(book: Book) -> None:
    assert await book.ask() == ["os.listdir()"]


async def test_cells_that_move_appear_and_go(book: Book) -> None:
    book.splice(1, 1)
    assert await book.ask() == ["moved(up)"]
    book.splice(0, 1)
    assert await book.ask() == ["alone(1)"]
    book.splice(0, 0, "one", "prose")
    assert await book.ask() == ["os.listdir()"]


async def test_a_cell_that_is_edited(book: Book) -> None:
    book.edit("one", "import sys")
    assert await book.ask() == ["alone(1)"]
    book.edit("one", "import os\n")
    assert await book.ask() == ["os.listdir()"]


async def test_a_cell_that_is_deleted_is_closed(book: Book) -> None:
    book.splice(2, 1, did_close=[types.TextDocumentIdentifier(uri_of("two"))])
    assert await book.ask() == []
    item = types.TextDocumentItem(uri_of("two"), "python", 1, "names = ")
    book.splice(2, 0, "two", did_open=[item])
    assert await book.ask() == ["os.listdir()"]


async def test_a_closed_notebook(vscode: Editor) -> None:
    book = Book(vscode)
    book.close()
    assert await book.ask() == []


async def test_notebooks_are_announced_to_clients_that_have_them(vscode: Editor) -> None:
    announced = vscode.capabilities.notebook_document_sync
    assert isinstance(announced, types.NotebookDocumentSyncOptions)
    assert [found.notebook for found in announced.notebook_selector] == ["*"]  # type: ignore[union-attr]
    async with editor(NEOVIM, SCRIPT) as other:
        assert other.capabilities.notebook_document_sync is None
