"""The tree-sitter tree of the lines around the cursor, updated by edits.

Re-parsing after a keystroke visits every child of the root, which takes 1 to 7 ms in a file of 5,000 to 20,000 lines.
So only an excerpt of a long document is parsed. A new excerpt is chosen when the cursor comes near its ends.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lsp_server.protocol.positions import Place, utf8_length

if TYPE_CHECKING:
    from tree_sitter import Tree

WHOLE_LINES = 500  # lines; up to this length the excerpt is the whole document, and a longer excerpt is replaced
EXCERPT_LINES = 240
MARGIN_LINES = 48  # minimum distance between the cursor and an excerpt's end, unless that is a document's end
OUTWARD_LINES = 120  # how far the start of an excerpt may move up to reach an outermost line
LARGEST_BYTES = 250_000  # bytes of an excerpt; a cold parse takes about 0.15 ms per thousand bytes


class SyntaxTree:
    """The tree of one version of a document. Immutable except for what `at` caches."""

    __slots__ = ("_current", "_first", "_language", "_rows", "_tree")

    def __init__(
        self, language: str | None, first: int = 0, rows: int = 0, tree: "Tree | None" = None, current: bool = False
    ) -> None:
        self._language = language  # None: never has a tree
        self._first, self._rows = first, rows  # the excerpt: first line and number of lines
        self._tree = tree  # the excerpt's tree; unless `_current`, that of an earlier version, edited to fit this one
        self._current = current

    @classmethod
    def of(cls, language: str, lines: Sequence[str]) -> "SyntaxTree":
        """Return the tree of a newly opened document."""
        return cls(None if _counts_differently(lines) else language)

    @classmethod
    def none(cls) -> "SyntaxTree":
        """Return an instance that never has a tree."""
        return cls(None)

    def edited(
        self, lines: Sequence[str], start: Place, end: Place, text: str, fresh: Sequence[str], grown: int
    ) -> "SyntaxTree":
        """Return the tree of the version in which `text` replaces `start` to `end` of this version's `lines`.

        `fresh` are the lines that replace the touched ones. `grown` is the change in the number of lines.
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
        from infill_engine.text.syntax import point_after, to_bytes

        start_byte, start_point = _bytes(lines, first, start), _point(lines, first, start)
        tree = self._tree.copy()
        tree.edit(
            start_byte,
            _bytes(lines, first, end),
            start_byte + utf8_length(text),
            start_point,
            _point(lines, first, end),
            point_after(start_point, to_bytes(text)),
        )
        return SyntaxTree(self._language, first, rows + grown, tree)

    def at(self, lines: Sequence[str], place: Place) -> "tuple[Tree, int] | None":
        """Return a tree that contains `place`, and the place's offset in its text, in UTF-8 bytes; None without one.

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

    def around(self, lines: Sequence[str], place: Place) -> "tuple[Tree, int] | None":
        """Return a tree that contains `place`, and the row of the document in which its text begins; None without one.

        `lines` are those of this version.
        """
        found = self.at(lines, place)
        return None if found is None else (found[0], self._first)

    def _has_around(self, row: int, available: int) -> bool:
        end = self._first + self._rows
        above = self._first == 0 or row >= self._first + MARGIN_LINES
        below = end == available or row < end - MARGIN_LINES
        return above and below and self._rows <= WHOLE_LINES

    def _parsed(self, excerpt: Sequence[str]) -> "Tree | None":
        from infill_engine.text.syntax import may_parse, parser_for

        parser = parser_for(self._language) if self._language else None
        # Check this before joining any text: a file with one enormous line is also queried at every keystroke.
        if parser is None or sum(map(utf8_length, excerpt)) > LARGEST_BYTES:
            return None
        text = "".join(excerpt)
        if self._language is None or not may_parse(text, self._language):
            return None
        source = text.encode()
        return parser.parse(source) if self._tree is None else parser.parse(source, self._tree)


def _excerpt(lines: Sequence[str], row: int, language: str) -> tuple[int, int]:
    """Return the first line and the length of the excerpt around `row`. They are the same within a quarter of an
    excerpt."""
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
    """Return whether a line looks like the start of an outermost definition or statement.

    `marks` are the characters, other than letters, that it may begin with.
    """
    return line[:1].isalpha() or bool(line[:1] and line[:1] in marks)


def _counts_differently(lines: Sequence[str]) -> bool:
    """Return whether tree-sitter counts rows differently, because a lone carriage return ends no line there."""
    return any(line[-1:] == "\r" for line in lines)


def _bytes(lines: Sequence[str], first: int, place: Place) -> int:
    row, column = place
    return utf8_length("".join(lines[first:row])) + utf8_length(lines[row][:column])


def _point(lines: Sequence[str], first: int, place: Place) -> tuple[int, int]:
    row, column = place
    return row - first, utf8_length(lines[row][:column])
