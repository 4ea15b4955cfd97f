"""The tree-sitter tree of the lines around the cursor, kept up to date by edits.

Re-parsing after one keystroke is no constant: it visits every child of the root, 1 to 7 ms in a file of 5,000 to
20,000 lines. So a long document has a tree of an excerpt only, which is cut anew when the cursor comes near its ends.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lsp_server.protocol.positions import Place, utf8_length

if TYPE_CHECKING:
    from tree_sitter import Tree

WHOLE_LINES = 500  # a document of no more lines is its own excerpt, and one that has grown longer is cut anew
EXCERPT_LINES = 240
MARGIN_LINES = 48  # between the cursor and an end of the excerpt that is not the document's
OUTWARD_LINES = 120  # how far above its place an excerpt may begin, to begin at an outermost line
LARGEST_BYTES = 250_000  # of an excerpt; a cold parse takes about 0.15 ms per thousand


class SyntaxTree:
    """The tree of one version of a document. Only what `at` has found out ever changes."""

    __slots__ = ("_current", "_first", "_language", "_rows", "_tree")

    def __init__(
        self, language: str | None, first: int = 0, rows: int = 0, tree: "Tree | None" = None, current: bool = False
    ) -> None:
        self._language = language  # None: never a tree
        self._first, self._rows = first, rows  # the excerpt: its first line, and how many it has
        self._tree = tree  # of the excerpt; where not `_current`, of an earlier version, edited to fit this one
        self._current = current

    @classmethod
    def of(cls, language: str, lines: Sequence[str]) -> "SyntaxTree":
        """For a document just opened."""
        return cls(None if _counts_differently(lines) else language)

    @classmethod
    def none(cls) -> "SyntaxTree":
        """For a text that never has a tree."""
        return cls(None)

    def edited(
        self, lines: Sequence[str], start: Place, end: Place, text: str, fresh: Sequence[str], grown: int
    ) -> "SyntaxTree":
        """For the version in which `text` replaces what is between `start` and `end` of this version's `lines`.

        `fresh` are the lines that come of it in place of those it touches, `grown` is how many more there are in all.
        """
        if self._language is None or _counts_differently(fresh):
            return SyntaxTree.none()
        first, rows = self._first, self._rows
        if self._tree is None:
            return SyntaxTree(self._language)
        if start[0] >= first + rows:
            return SyntaxTree(self._language, first, rows, self._tree, self._current)
        if end[0] < first:
            return SyntaxTree(self._language, first + grown, rows, self._tree, self._current)
        if start[0] < first or end[0] >= first + rows:
            return SyntaxTree(self._language)
        start_byte, start_point = _bytes(lines, first, start), _point(lines, first, start)
        tree = self._tree.copy()
        tree.edit(
            start_byte,
            _bytes(lines, first, end),
            start_byte + utf8_length(text),
            start_point,
            _point(lines, first, end),
            _point_after(start_point, text),
        )
        return SyntaxTree(self._language, first, rows + grown, tree)

    def at(self, lines: Sequence[str], place: Place) -> "tuple[Tree, int] | None":
        """A tree that has `place` in it, and its offset in the tree's text, in UTF-8 bytes; None if there is no tree.

        `lines` are those of this version.
        """
        if self._language is None:
            return None
        if not self._has_around(place[0], len(lines)):
            self._first, self._rows = _excerpt(lines, place[0], self._language)
            self._tree, self._current = None, False
        if not self._current:
            self._current = True
            self._tree = self._parsed(lines[self._first : self._first + self._rows])
        return None if self._tree is None else (self._tree, _bytes(lines, self._first, place))

    def _has_around(self, row: int, available: int) -> bool:
        end = self._first + self._rows
        above = self._first == 0 or row >= self._first + MARGIN_LINES
        below = end == available or row < end - MARGIN_LINES
        return above and below and self._rows <= WHOLE_LINES

    def _parsed(self, excerpt: Sequence[str]) -> "Tree | None":
        from infill_engine.text.syntax import may_parse, parser_for

        parser = parser_for(self._language) if self._language else None
        # Before any text is joined: a file of one enormous line is asked for at every keystroke, too.
        if parser is None or sum(map(utf8_length, excerpt)) > LARGEST_BYTES:
            return None
        text = "".join(excerpt)
        if self._language is None or not may_parse(text, self._language):
            return None
        source = text.encode()
        return parser.parse(source) if self._tree is None else parser.parse(source, self._tree)


def _excerpt(lines: Sequence[str], row: int, language: str) -> tuple[int, int]:
    """First line and number of lines of the excerpt around `row`: the same for all rows of a quarter of it."""
    if len(lines) <= WHOLE_LINES:
        return 0, len(lines)
    step = EXCERPT_LINES // 4
    first = max(0, row - row % step - (EXCERPT_LINES - step) // 2)
    end = min(first + EXCERPT_LINES, len(lines))
    marks = _outermost_marks(language)
    outer = (at for at in range(first, max(first - OUTWARD_LINES, -1), -1) if _is_outermost(lines[at], marks))
    first = next(outer, first)
    return first, end - first


def _outermost_marks(language: str) -> str:
    from infill_engine.text.languages import language as language_named

    return language_named(language).layout.outermost


def _is_outermost(line: str, marks: str) -> bool:
    """Whether a line looks like the first of a definition or statement that nothing encloses.

    `marks` are the characters beside letters that it may begin with.
    """
    return line[:1].isalpha() or bool(line[:1] and line[:1] in marks)


def _counts_differently(lines: Sequence[str]) -> bool:
    """Whether tree-sitter, to which a lone carriage return ends no line, would count other rows than we do."""
    return any(line[-1:] == "\r" for line in lines)


def _bytes(lines: Sequence[str], first: int, place: Place) -> int:
    row, column = place
    return utf8_length("".join(lines[first:row])) + utf8_length(lines[row][:column])


def _point(lines: Sequence[str], first: int, place: Place) -> tuple[int, int]:
    row, column = place
    return row - first, utf8_length(lines[row][:column])


def _point_after(start: tuple[int, int], text: str) -> tuple[int, int]:
    row, column = start
    above, line_break, last = text.rpartition("\n")
    return (row + above.count("\n") + 1, utf8_length(last)) if line_break else (row, column + utf8_length(last))
