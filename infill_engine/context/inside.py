"""Whether the cursor stands in a string or a comment: read from the tree where it is sound, from the text elsewhere."""

from tree_sitter import Node, Tree

from infill_engine.text import delimiters, syntax
from infill_engine.text.languages import language as language_named

CODE, STRING, COMMENT, UNSURE = "code", "string", "comment", "unsure"


def inside(prefix: str, left: str, language: str, tree: Tree | None, at: int) -> str:
    """The mark of the quote or comment that the cursor stands in, or "".

    `left` is the cursor's line up to it, `at` its offset in bytes in the tree.
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


def nodes_around(tree: Tree, at: int) -> list[Node]:
    """The nodes around the byte `at`, the smallest first.

    They are gone through once from the root on, for so does a node to find its parent, each time anew, and text may be
    nested as deeply as it is long.
    """
    smallest = tree.root_node.descendant_for_byte_range(at, at)
    if smallest is None:
        return []
    around = [tree.root_node]
    while around[-1] != smallest and (child := around[-1].child_with_descendant(smallest)) is not None:
        around.append(child)
    return around[::-1]


def _kind_by_tree(tree: Tree, at: int, left: str, language: str) -> str:
    """Whether the cursor stands in code, a string or a comment; unsure where the tree is broken around it."""
    nodes = language_named(language).nodes
    before = tree.root_node.descendant_for_byte_range(at - 1, at - 1) if at else None
    if before is not None and before.type in nodes.comments and before.end_byte == at and not _closed(left, language):
        return COMMENT
    for node in nodes_around(tree, at):
        strictly = node.start_byte < at < node.end_byte
        if strictly and node.type in nodes.comments:
            return COMMENT
        if strictly and node.type in nodes.strings:
            return STRING
        if strictly and node.type in nodes.interpolations:
            return CODE
    # Where a quote was left open, the pieces of the string hang anywhere below the nearest node with an error.
    line = tree.root_node.descendant_for_byte_range(max(at - len(syntax.to_bytes(left)), 0), at)
    return UNSURE if line is None or line.has_error else CODE


def _closed(left: str, language: str) -> bool:
    """Whether `left` ends with what closes a comment."""
    closings = (delimiters.closing_of(mark, language) for mark in delimiters.comment_marks(language))
    return any(closing and left.endswith(closing) for closing in closings)
