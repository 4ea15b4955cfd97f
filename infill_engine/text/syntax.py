"""Syntax trees by LSP language identifier.

A missing grammar is not an error: every function returns None and its callers fall back to text.
Every call makes a new parser (a third of a microsecond), because one parser must not be shared by two threads.
"""

from functools import lru_cache

from tree_sitter import Language, Node, Parser, Tree

from infill_engine.text.languages import grammar_of
from infill_engine.text.languages import language as language_named

MOST_VISITED = 2000  # nodes; beyond this, an exact count does not matter


@lru_cache(maxsize=256)
def grammar(language: str) -> Language | None:
    """Return the grammar of a language, or None if there is no usable one."""
    return grammar_of(language_named(language))


def parser_for(language: str) -> Parser | None:
    """Return a new parser for the caller's thread, or None if the language has no usable grammar."""
    known = grammar(language)
    return None if known is None else Parser(known)


def may_parse(text: str, language: str) -> bool:
    """Return whether `text` is safe to parse. One grammar's parser crashes on very deep nesting."""
    known = language_named(language).grammar
    return known is None or known.refuses is None or known.refuses.search(text) is None


def parse(text: str, language: str) -> Tree | None:
    """Return the tree of `text`, with offsets in UTF-8 bytes; None if the language has no grammar for it."""
    parser = parser_for(language)
    return None if parser is None or not may_parse(text, language) else parser.parse(to_bytes(text))


def refilled(tree: Tree, before: bytes, old: str, new: str, after: bytes, language: str) -> Tree | None:
    """Return a tree with `new` in place of `old` between `before` and `after`. Only the change is parsed.

    `tree` stays as it is. None if the grammar is not usable for the text.
    """
    parser = parser_for(language)
    if parser is None or not may_parse(new, language):
        return None
    text, at, start = to_bytes(new), len(before), point_after((0, 0), before)
    copy, length = tree.copy(), len(to_bytes(old))
    copy.edit(at, at + length, at + len(text), start, point_after(start, to_bytes(old)), point_after(start, text))
    return parser.parse(before + text + after, copy)


def point_after(start: tuple[int, int], text: bytes) -> tuple[int, int]:
    """Return the row and the column in UTF-8 bytes at the end of `text`, which begins at `start`."""
    rows = text.count(b"\n")
    return (start[0] + rows, len(text) - text.rfind(b"\n") - 1) if rows else (start[0], start[1] + len(text))


def opened(text: str, language: str) -> str:
    """Return a part of a file with the opening that it needs to be parsed as code. Offsets change."""
    known = language_named(language).grammar
    if known is None or known.opened is None or known.opened.match(text):
        return text
    return known.opening + text


def to_bytes(text: str) -> bytes:
    """Return the UTF-8 bytes that tree offsets refer to; a lone surrogate, which UTF-8 cannot encode, becomes `?`."""
    return text.encode("utf-8", "replace")


def nodes_around(tree: Tree, start: int, end: int) -> list[Node]:
    """Return the nodes around the bytes from `start` to `end`, smallest first.

    This walks the tree once from the root. A node's `parent` repeats that walk on every call, and nesting may be as
    deep as the text is long.
    """
    smallest = tree.root_node.descendant_for_byte_range(start, end)
    if smallest is None:
        return []
    around = [tree.root_node]
    while around[-1] != smallest and (child := around[-1].child_with_descendant(smallest)) is not None:
        around.append(child)
    return around[::-1]


def faults(tree: Tree) -> int:
    """Return the number of ERROR and MISSING nodes. Visits only subtrees with an error, and at most MOST_VISITED
    nodes."""
    if not tree.root_node.has_error:
        return 0
    found = 0
    waiting: list[Node] = [tree.root_node]
    for _ in range(MOST_VISITED):
        if not waiting:
            break
        node = waiting.pop()
        found += node.is_error or node.is_missing
        waiting.extend(child for child in node.children if child.has_error)
    return found
