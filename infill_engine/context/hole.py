"""Find the kind and extent of the hole at the cursor, from the syntax tree or, if that is broken, from the text.

The text to the right of the cursor on its line stays, so the hole ends where that text begins.
`Hole.closers` names the brackets and quotes in that text that close something opened on the left.
"""

from tree_sitter import Tree

from infill_engine.context.bodies import among_values, body_missing
from infill_engine.context.drafts.error_checks import LINES, error_check
from infill_engine.context.inside import inside
from infill_engine.text import delimiters, lines, syntax
from infill_engine.text.embedded import region
from infill_engine.types import Hole, HoleKind

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
    mark = inside(prefix, left, language, tree, byte_offset)
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
