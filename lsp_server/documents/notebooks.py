"""Open notebooks: the order of their cells, and the text that a cell continues.

A cell uses names from the cells above it. So a cell of code is completed as part of one long text: all cells of code in
its language, with the cells of prose as comments between them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from infill_engine.text.delimiters import closing_of, comment_marks
from lsp_server.documents.snapshots import Documents, Snapshot
from lsp_server.documents.syntax_tree import SyntaxTree

NO_TREE = SyntaxTree.none()  # the text around a place in a notebook is parsed as a whole
BETWEEN = "\n"  # a blank line between two cells


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: the URI of its document, and whether it contains code or prose."""

    uri: str
    is_code: bool


class Notebooks:
    """The client's open notebooks. The text of their cells is among the open documents."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._cells: dict[str, list[Cell]] = {}
        self._notebook_of: dict[str, str] = {}

    def open(self, uri: str, cells: Iterable[Cell]) -> None:
        """Open a notebook, or reopen it with these cells."""
        self.close(uri)
        self._cells[uri] = []
        self.splice(uri, 0, 0, cells)

    def splice(self, uri: str, start: int, deleted: int, cells: Iterable[Cell]) -> None:
        """Replace `deleted` cells from number `start` on. Does nothing if the notebook is not open."""
        held = self._cells.get(uri)
        if held is None:
            return
        for cell in held[start : start + deleted]:
            self._notebook_of.pop(cell.uri, None)
        held[start : start + deleted] = added = list(cells)
        self._notebook_of.update({cell.uri: uri for cell in added})

    def close(self, uri: str) -> None:
        """Forget a notebook. Its documents are closed separately."""
        for cell in self._cells.pop(uri, ()):
            self._notebook_of.pop(cell.uri, None)

    def together(self, one: str, other: str) -> bool:
        """Return whether two documents are cells of the same notebook."""
        notebook = self._notebook_of.get(one)
        return notebook is not None and notebook == self._notebook_of.get(other)

    def around(self, snapshot: Snapshot, allows: Callable[[str], bool] = lambda _: True) -> tuple[Snapshot, int]:
        """Return the text that a document is part of, and the row at which the document begins in it.

        A document that is not a cell, or a cell of prose, is a text by itself. Leaves out cells in a language for which
        `allows` returns False.
        """
        cells = self._cells.get(self._notebook_of.get(snapshot.uri, ""), [])
        at = next((at for at, cell in enumerate(cells) if cell.uri == snapshot.uri and cell.is_code), None)
        if at is None:
            return snapshot, 0
        before, after = (self._joined(part, snapshot.language, allows) for part in (cells[:at], cells[at + 1 :]))
        *own, last = snapshot.lines
        rest = (last + "\n", BETWEEN, *after, "") if after else (last,)
        lines, top = (*before, *own, *rest), len(before)
        whole = replace(
            snapshot,
            lines=lines,
            size=sum(map(len, lines)),
            syntax=NO_TREE,
            cursor=(snapshot.cursor[0] + top, snapshot.cursor[1]),
        )
        return whole, top

    def _joined(self, cells: Sequence[Cell], language: str, allows: Callable[[str], bool]) -> tuple[str, ...]:
        """Return the lines of cells, with a blank line after each."""
        joined: list[str] = []
        for cell in cells:
            held = self._documents.get(cell.uri)
            if held is None or (cell.is_code and held.language != language) or not allows(held.language):
                continue
            lines = _ended(held.lines) if cell.is_code else _as_comment(held.lines, language)
            if lines:
                joined += (*lines, BETWEEN)
        return tuple(joined)


def _ended(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Return the lines of a text that ends with a line break."""
    return (*lines[:-1], lines[-1] + "\n") if lines[-1] else lines[:-1]


def _as_comment(lines: tuple[str, ...], language: str) -> tuple[str, ...]:
    """Return the nonblank lines as comments; nothing in a language without line comments."""
    mark = next((mark for mark in comment_marks(language) if not closing_of(mark, language)), "")
    return tuple(f"{mark} {line.rstrip()}\n" for line in lines if line.strip()) if mark else ()
