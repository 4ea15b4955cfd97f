"""Find the kind and extent of the hole at the cursor, from the syntax tree or, if that is broken, from the text.

The text to the right of the cursor on its line stays, so the hole ends where that text begins.
`Hole.closers` names the brackets and quotes in that text that close something opened on the left.
"""

from tree_sitter import Tree

from infill_engine.context.drafts.error_checks import LINES, error_check
from infill_engine.context.missing_bodies import among_values, body_missing
from infill_engine.text import delimiters, lines, syntax
from infill_engine.text.embedded import region
from infill_engine.text.languages import language as language_named
from infill_engine.types import Hole, HoleKind

CODE, STRING, COMMENT, UNSURE = "code", "string", "comment", "unsure"
BLOCK_LINES = 6  # reading a longer suggestion takes longer than typing it


def hole_at(
    prefix: str, suffix: str, language: str = "python", tree: Tree | None = None, byte_offset: int | None = None
) -> Hole:
    """Return the hole between `prefix`, which ends at the cursor, and `suffix`, which begins there.

    `tree` may be the tree of the whole document, with the cursor's UTF-8 `byte_offset` in it. Without it, the two
    windows are parsed. Never raises for broken code: the text shows what the tree does not.
    """
    embedded = region(prefix, suffix, language)
    if embedded is not None:
        return hole_at(embedded.prefix, embedded.suffix, embedded.language)
    if tree is None or byte_offset is None:
        tree = syntax.parse(prefix + suffix, language)
        byte_offset = len(syntax.to_bytes(prefix))
    left, right = lines.last_line(prefix), lines.first_line(suffix)
    indent = lines.indent_of(left + right if right.strip() else left)
    mark = _inside(prefix, left, language, tree, byte_offset)
    closers = _closers(right, language, mark)
    if mark:
        return Hole(HoleKind.LINE, 1, indent, closers)
    if right.strip() and not delimiters.is_comment(right, language):
        return Hole(HoleKind.EXPRESSION, 1, indent, closers)
    checks = bool(error_check(prefix, suffix, language))
    if left.strip():
        return Hole(HoleKind.LINE, LINES if checks else 1, indent, closers)
    around = [] if tree is None else syntax.nodes_around(tree, byte_offset, byte_offset)
    if among_values(prefix, language, around):
        return Hole(HoleKind.EXPRESSION, 1, indent, closers)
    if not right.strip() and body_missing(prefix, suffix, language):
        return Hole(HoleKind.BLOCK, BLOCK_LINES, indent)
    return Hole(HoleKind.STATEMENT, LINES if checks else 1, indent)


def _closers(right: str, language: str, mark: str) -> str:
    """Return the quote and brackets in `right`, the rest of the line, that close something left of the hole.

    `mark` is the quote or comment mark that the cursor is in, or "".
    """
    if not mark:
        return delimiters.scan(right, language).closed
    closing = delimiters.closing_of(mark, language)
    if not delimiters.is_quote(mark, language):
        return closing if closing and closing in right else ""
    end = delimiters.string_end(right, mark, language) if closing else -1
    return closing + delimiters.scan(right[end:], language).closed if end >= 0 else ""


def _inside(prefix: str, left: str, language: str, tree: Tree | None, at: int) -> str:
    """Return the mark of the quote or comment that the cursor is in, or "".

    The tree decides or, if that is broken, the text. `left` is the cursor's line up to the cursor, `at` its byte offset
    in the tree.
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
