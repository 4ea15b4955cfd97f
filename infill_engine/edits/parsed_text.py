"""A parsed text whose nodes are found by character offsets."""

import threading
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import accumulate
from typing import Any, TypeVar

from tree_sitter import Node, Parser, Tree

from infill_engine.edits.changes import Shift, word_chars
from infill_engine.edits.types import Change, Edit, Span
from infill_engine.text import lines, syntax
from infill_engine.text.languages.registry import language as language_named

T = TypeVar("T")

MARK_CHARS = 512
PIECE_BYTES = 2048  # bytes that are parsed while the interpreter is locked


class ParsedText:
    """A text with its tree. Offsets are in characters, but the tree's are in bytes of UTF-8."""

    def __init__(self, text: str, language: str, tree: Tree) -> None:
        self.text = text
        self.language = language
        self.tree = tree
        self.syntax = language_named(language).syntax
        self.nodes = language_named(language).nodes
        self._known: dict[object, Any] = {}
        self._ascii = text.isascii()
        self._bytes = b"" if self._ascii else syntax.to_bytes(text)
        self._marks = [0]  # the tree's offset at regular distances in characters
        if not self._ascii:
            pieces = (text[at : at + MARK_CHARS] for at in range(0, len(text) // MARK_CHARS * MARK_CHARS, MARK_CHARS))
            self._marks = list(accumulate((len(syntax.to_bytes(piece)) for piece in pieces), initial=0))

    @classmethod
    def parse(cls, text: str, language: str) -> "ParsedText | None":
        """Parse a text; None if the language has no grammar or the text would crash its parser."""
        parser = syntax.parser_for(language) if syntax.may_parse(text, language) else None
        return None if parser is None else cls(text, language, _parsed(parser, syntax.to_bytes(text)))

    def changed(self, text: str, changes: Sequence[Change]) -> "ParsedText":
        """Return the text after some changes. Only the changed parts are parsed again."""
        tree = self.tree.copy()
        old = self._bytes or syntax.to_bytes(self.text)
        for change in reversed(changes):  # offsets before them stay valid
            start, end = self.to_byte(change.start), self.to_byte(change.end)
            new = syntax.to_bytes(change.new)
            first = _point(old, start)
            row, column = first[0] + new.count(b"\n"), len(new) - (new.rfind(b"\n") + 1)
            last = row, column if b"\n" in new else first[1] + column
            tree.edit(start, end, start + len(new), first, _point(old, end), last)
        parser = syntax.parser_for(self.language)
        assert parser is not None  # it made this tree
        return ParsedText(text, self.language, _parsed(parser, syntax.to_bytes(text), tree))

    def once(self, key: object, make: Callable[[], T]) -> T:
        """Return what a function makes of the text. It is called only once for a key."""
        if key not in self._known:
            self._known[key] = make()
        found: T = self._known[key]
        return found

    @property
    def root(self) -> Node:
        """The node of the whole text."""
        return self.tree.root_node

    def to_byte(self, at: int) -> int:
        """Return the tree's offset of a character."""
        if self._ascii:
            return at
        mark = at // MARK_CHARS
        return self._marks[mark] + len(syntax.to_bytes(self.text[mark * MARK_CHARS : at]))

    def to_char(self, byte: int) -> int:
        """Return the character at an offset of the tree."""
        if self._ascii:
            return byte
        mark = bisect_right(self._marks, byte) - 1
        return mark * MARK_CHARS + len(self._bytes[self._marks[mark] : byte].decode("utf-8", "replace"))

    def span_of(self, node: Node) -> tuple[int, int]:
        """Return the start and end of a node, in characters."""
        return self.to_char(node.start_byte), self.to_char(node.end_byte)

    def start_of(self, node: Node) -> int:
        """Return the start of a node, in characters."""
        return self.to_char(node.start_byte)

    def head_end(self, definition: Node) -> int:
        """Return where the body of a definition begins, or the definition ends if it has none, in characters."""
        body = definition.child_by_field_name("body")
        return self.to_char(definition.end_byte if body is None else body.start_byte)

    def text_of(self, node: Node) -> str:
        """Return the text of a node."""
        start, end = self.span_of(node)
        return self.text[start:end]

    def name_of(self, node: Node) -> str:
        """Return the text of a node's field `name`; "" without one."""
        name = node.child_by_field_name("name")
        return "" if name is None else self.text_of(name)

    def line_at(self, at: int) -> str:
        """Return the line around an offset, without blanks at its ends."""
        return self.text[slice(*lines.around(self.text, at, at))].strip()

    def words(self, word: str) -> Iterator[int]:
        """Yield the offsets at which `word` begins in the text as a whole word."""
        return words(self.text, word, self.language)

    def replacing(self, shift: Shift, start: int, end: int, new: str) -> Edit | None:
        """Return the edit that replaces a part of this text after changes; None if they touch it."""
        place = shift.span(start, end)
        return None if place is None else Edit(Span(*place, self.text[start:end]), new)

    def node_at(self, start: int, end: int) -> Node:
        """Return the smallest node that contains all characters from `start` to `end`."""
        found = self.root.descendant_for_byte_range(self.to_byte(start), self.to_byte(end))
        return self.root if found is None else found


class _Piece(threading.local):
    """The buffer that the parsers of one thread read from.

    A parser never releases what a callback returns (tree-sitter 0.25 and 0.26), so a callback that returned a new
    object for each piece would leak the text of every parse. All callbacks return this object.
    """

    def __init__(self) -> None:
        self.held = bytearray()


_piece = _Piece()


def _parsed(parser: Parser, source: bytes, old: Tree | None = None) -> Tree:
    """Return the tree of a text. The text is passed in pieces, so that other threads may run in between.

    The second parse reuses all of the first. Its tree has its text, whereas the first one would ask the callback for
    it.
    """
    held = _piece.held

    def piece(at: int, _place: object) -> bytearray:
        held[:] = source[at : at + PIECE_BYTES]  # the parser no longer needs the piece before
        return held

    return parser.parse(source, parser.parse(piece) if old is None else parser.parse(piece, old))


def _point(source: bytes, at: int) -> tuple[int, int]:
    return source.count(b"\n", 0, at), at - (source.rfind(b"\n", 0, at) + 1)


def words(text: str, word: str, language: str) -> Iterator[int]:
    """Yield the offsets at which `word` begins in a text of a language as a whole word."""
    chars = word_chars(language)
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not chars.match(text, end) and not (at and chars.match(text, at - 1)):
            yield at
        at = text.find(word, end)


def ancestors(node: Node) -> Iterator[Node]:
    """Yield the nodes around a node, innermost first."""
    above = node.parent
    while above is not None:
        yield above
        above = above.parent


def with_decorators(node: Node) -> Node:
    """Return a definition together with its decorators."""
    above = node.parent
    return node if above is None or above.type != "decorated_definition" else above


def enclosing(node: Node, types: Collection[str]) -> Node | None:
    """Return the innermost node around a node that is of one of these types."""
    return next((above for above in ancestors(node) if above.type in types), None)


def innermost(node: Node, types: Collection[str]) -> Node | None:
    """Return a node that is of one of these types: this one, or the innermost around it."""
    return node if node.type in types else enclosing(node, types)


def holds(node: Node, other: Node) -> bool:
    """Return whether a node contains another one."""
    return node.start_byte <= other.start_byte and other.end_byte <= node.end_byte


def first_child(node: Node | None) -> Node | None:
    """Return the first named child of a node, if there is one."""
    return node.named_children[0] if node is not None and node.named_child_count else None
