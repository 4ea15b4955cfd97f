"""Whether the cursor is in a string or a comment, by the tree or, if that is broken, by the text."""

from tree_sitter import Tree

from infill_engine.text import delimiters, syntax
from infill_engine.text.languages import language as language_named

CODE, STRING, COMMENT, UNSURE = "code", "string", "comment", "unsure"


def inside(prefix: str, left: str, language: str, tree: Tree | None, at: int) -> str:
    """Return the mark of the quote or comment that the cursor is in, or "".

    `left` is the cursor's line up to the cursor, `at` its byte offset in the tree.
    """
    if tree is None:
        return delimiters.scan(prefix, language).inside
    kind = _kind_by_tree(tree, at, left, language)
    if kind == CODE:
        return ""
    by_line = delimiters.scan(left, language).inside
    if kind == UNSURE:
        return by_line
    quoted = delimiters.is_quote(by_line, language)
    if kind == COMMENT:
        return by_line if by_line and not quoted else next(iter(delimiters.comment_marks(language)), "")
    if quoted:
        return by_line
    quote = delimiters.scan(prefix, language).inside
    return quote if delimiters.is_quote(quote, language) else '"'


def _kind_by_tree(tree: Tree, at: int, left: str, language: str) -> str:
    """Return whether the cursor is in code, a string or a comment; unsure if the tree is broken around it."""
    nodes = language_named(language).nodes
    before = tree.root_node.descendant_for_byte_range(at - 1, at - 1) if at else None
    if before is not None and before.type in nodes.comments and before.end_byte == at and not _closed(left, language):
        return COMMENT
    for node in syntax.nodes_around(tree, at, at):
        strictly = node.start_byte < at < node.end_byte
        if strictly and node.type in nodes.comments:
            return COMMENT
        if strictly and node.type in nodes.strings:
            return STRING
        if strictly and node.type in nodes.interpolations:
            return CODE
    # If a quote was left open, the pieces of the string may be anywhere below the nearest node with an error.
    line = tree.root_node.descendant_for_byte_range(max(at - len(syntax.to_bytes(left)), 0), at)
    return UNSURE if line is None or line.has_error else CODE


def _closed(left: str, language: str) -> bool:
    """Return whether `left` ends with a comment's closing mark."""
    closings = (delimiters.closing_of(mark, language) for mark in delimiters.comment_marks(language))
    return any(closing and left.endswith(closing) for closing in closings)
