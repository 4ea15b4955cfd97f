"""What the text of a notebook is for a place in one of its cells."""

import pytest

from lsp_server.documents.notebooks import Cell, Notebooks
from lsp_server.documents.snapshots import Documents, change_to
from lsp_server.server import create_server
from lsp_server.settings.schema import ServerSettings

NOTEBOOK = "file:///project/notes.ipynb"


class Book:
    """A notebook of three cells of code around one of prose."""

    def __init__(self) -> None:
        self.documents = Documents()
        self.notebooks = Notebooks(self.documents)
        self.notebooks.open(
            NOTEBOOK,
            [
                self.cell("one", "import os\n"),
                self.cell("prose", "# Names\n\nof all files", "markdown", is_code=False),
                self.cell("two", "names = os.listdir()\nnames"),
                self.cell("three", "print(names)\n\n"),
            ],
        )

    def cell(self, name: str, text: str, language: str = "python", *, is_code: bool = True) -> Cell:
        self.documents.open(name, language, text)
        return Cell(name, is_code)

    def around(self, name: str) -> tuple[str, str, str]:
        """The text before a cell, its own, and the text after it."""
        snapshot = self.documents.get(name)
        assert snapshot is not None
        whole, top = self.notebooks.around(snapshot)
        assert whole.size == sum(map(len, whole.lines))
        assert not whole.lines[-1].endswith("\n")
        bottom = top + len(snapshot.lines)
        return tuple("".join(whole.lines[slice(*part)]) for part in ((0, top), (top, bottom), (bottom, None)))  # type: ignore[return-value]


def test_a_cell_is_between_those_above_and_those_below() -> None:
    before, own, after = Book().around("two")
    assert before == "import os\n\n# # Names\n# of all files\n\n"
    assert own == "names = os.listdir()\nnames\n"
    assert after == "\nprint(names)\n\n\n"


def test_the_first_and_the_last_cell() -> None:
    book = Book()
    assert book.around("one")[:2] == ("", "import os\n\n")
    before, own, after = book.around("three")
    assert (before[-7:], own, after) == ("names\n\n", "print(names)\n\n", "")


def test_a_cell_of_prose_and_a_file_are_texts_by_themselves() -> None:
    book = Book()
    assert book.around("prose") == ("", "# Names\n\nof all files", "")
    book.documents.open("file:///project/a.py", "python", "a = 1\n")
    assert book.around("file:///project/a.py") == ("", "a = 1\n", "")


def test_cells_that_were_moved_added_removed_and_edited() -> None:
    book = Book()
    book.notebooks.splice(NOTEBOOK, 1, 2, [])
    book.notebooks.splice(NOTEBOOK, 0, 0, [Cell("two", True), book.cell("new", "x = 1")])
    book.documents.change("one", change_to(book.documents.get("one"), "import sys\n"))
    assert book.around("three")[0] == "names = os.listdir()\nnames\n\nx = 1\n\nimport sys\n\n"
    assert book.around("prose")[0] == ""  # no longer a cell


def test_cells_in_another_language_are_left_out() -> None:
    book = Book()
    book.notebooks.splice(NOTEBOOK, 2, 0, [book.cell("query", "SELECT 1", "sql")])
    assert "SELECT" not in book.around("two")[0]
    assert book.around("query") == ("-- # Names\n-- of all files\n\n", "SELECT 1", "")


def test_a_language_without_line_comments_gets_no_prose() -> None:
    book = Book()
    book.notebooks.splice(NOTEBOOK, 2, 0, [book.cell("page", "<p>", "html")])
    assert book.around("page") == ("", "<p>", "")


def test_line_ends_and_empty_cells() -> None:
    book = Book()
    book.notebooks.open(NOTEBOOK, [book.cell("a", "x = 1\r\ny = 2"), book.cell("b", ""), book.cell("c", "z")])
    assert book.around("c") == ("x = 1\r\ny = 2\n\n", "z", "")
    assert book.around("b") == ("x = 1\r\ny = 2\n\n", "\n", "\nz\n\n")


def test_odd_notifications() -> None:
    book = Book()
    book.notebooks.splice("file:///nowhere.ipynb", 0, 5, [Cell("one", True)])
    book.notebooks.splice(NOTEBOOK, 90, 90, [Cell("never opened", True)])
    assert book.around("three")[0].startswith("import os\n")
    book.documents.close("two")  # but its cell is still there
    assert book.around("three")[0] == "import os\n\n# # Names\n# of all files\n\n"
    book.notebooks.close(NOTEBOOK)
    book.notebooks.close(NOTEBOOK)
    assert book.around("three")[0] == ""


def test_which_documents_belong_together() -> None:
    book = Book()
    assert book.notebooks.together("one", "prose")
    assert not book.notebooks.together("one", "file:///project/a.py")
    assert not book.notebooks.together("file:///project/a.py", "file:///project/a.py")


@pytest.mark.parametrize(
    "change",
    [
        {"structure": {"array": {"start": 70, "deleteCount": 9}}},
        {"structure": {"array": {"start": 0, "deleteCount": 0, "cells": None}}},
        {"structure": {"array": {"start": -1, "deleteCount": -1}}},
        {"textContent": [{"document": {"uri": "no:cell", "version": 1}, "changes": [{"text": "x"}]}]},
        {"data": [{"kind": 2, "document": "no:cell"}]},
        {"structure": {}},
        {"structure": {"array": {"start": "first"}}},
        {},
        None,
        7,
    ],
)
def test_odd_changes_do_no_harm(change: object) -> None:
    _, session = create_server()
    handle = session.protocol.handle_message
    handle({"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}})
    opened = [("one", "import os"), ("two", "x")]
    items = [{"uri": name, "languageId": "python", "version": 1, "text": text} for name, text in opened]
    listed = {"uri": NOTEBOOK, "notebookType": "jupyter", "version": 1}
    listed["cells"] = [{"kind": 2, "document": name} for name, _ in opened]
    handle({"method": "notebookDocument/didOpen", "params": {"notebookDocument": listed, "cellTextDocuments": items}})
    params = {"notebookDocument": {"uri": NOTEBOOK, "version": 3}, "change": {"cells": change}}
    handle({"method": "notebookDocument/didChange", "params": params})
    two = session.workspace.documents.get("two")
    assert two is not None
    assert session.workspace.notebooks.around(two)[0].lines == ("import os\n", "\n", "x")


def test_cells_of_one_notebook_are_no_other_files() -> None:
    _, session = create_server()
    for name, text in (("one", "import os\n"), ("two", "names = ")):
        session.workspace.documents.open(name, "python", text)
    file = session.workspace.documents.open("file:///project/a.py", "python", "a = 1\n")
    two = session.workspace.documents.get("two")
    assert two is not None
    assert [each.uri for each in session.workspace.neighbours(two)] == [file.uri, "two", "one"]
    session.workspace.notebooks.open(NOTEBOOK, [Cell("one", True), Cell("two", True)])
    assert session.workspace.neighbours(two) == [file]


async def test_a_place_in_a_cell_is_one_in_the_notebook() -> None:
    _, session = create_server()
    session.workspace.documents.open("one", "python", "import os\n")
    two = session.workspace.documents.open("two", "python", "a, b\nc")
    session.workspace.notebooks.open(NOTEBOOK, [Cell("one", True), Cell("two", True)])
    asked = session.requests.completion(two, (0, 3))
    assert (asked.prefix, asked.suffix) == ("import os\n\na, ", "b\nc")
    assert session.requests.completion(two, (0, 3)) is asked  # it is not built again
    session.workspace.documents.open("prose", "markdown", "Lists")
    session.workspace.notebooks.splice(NOTEBOOK, 1, 0, [Cell("prose", False)])
    assert session.requests.completion(two, (0, 3)).prefix == "import os\n\n# Lists\n\na, "
    session.workspace.settings = ServerSettings(languages={"*": True, "markdown": False})
    documents = session.workspace.documents
    documents.change("one", change_to(documents.get("one"), "import sys\n"))
    assert session.requests.completion(two, (0, 3)).prefix == "import sys\n\na, "
    rewrite = session.requests.rewrite(two, [((0, 0), (0, 1)), ((1, 0), (1, 1))], several_lines=False, repeats=False)
    assert (rewrite.prefix, rewrite.holes.replaced, rewrite.suffix) == ("import sys\n\n", ("a", "c"), "")
    assert [gap.known for gap in rewrite.holes.gaps] == [", b\n"]
