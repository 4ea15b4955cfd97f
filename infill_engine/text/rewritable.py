"""The parts of a program around a selection that can be rewritten separately, innermost first.

The parts are the nodes that the language's query names as holes: expressions, arguments, statements, blocks.
"""

from dataclasses import dataclass

from tree_sitter import Node, QueryCursor, Tree

from infill_engine.text.languages import language as language_named
from infill_engine.text.languages.queries import ARGUMENT, BLOCK, PROSE, STATEMENT, holes_query
from infill_engine.text.syntax import nodes_around
from infill_engine.text.validity import is_strict

TreePoint = tuple[int, int]  # a row of the tree's text and a column in bytes

_CALLABLE = ("function", "method", "lambda", "constructor", "func")
_ENTRIES = frozenset({"pair", "block_mapping_pair", "table", "block_sequence_item"})
_ARGUMENTS = frozenset({"argument_list", "arguments"})


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a program. `label` is what a programmer calls it. `lines` says that it may have several lines."""

    label: str
    start: TreePoint
    end: TreePoint
    lines: bool


def parts_around(tree: Tree, language: str, start: int, end: int) -> list[Part]:
    """Return the parts that contain the bytes from `start` to `end`, innermost first; none for a language without a
    query."""
    query = holes_query(language_named(language))
    if query is None:
        return []
    cursor = QueryCursor(query)
    cursor.set_byte_range(max(0, start - 1), end + 1)
    found = [
        (node, capture)
        for capture, nodes in cursor.captures(tree.root_node).items()
        for node in nodes
        if capture != PROSE and node.start_byte <= start and end <= node.end_byte and node.start_byte < node.end_byte
    ]
    if start == end and any(node.end_byte > end for node, _ in found):
        found = [(node, capture) for node, capture in found if node.end_byte > end]
    # Of nodes with the same text, the outermost has the best label. A body of one statement counts twice.
    found.sort(key=lambda one: (one[0].end_byte - one[0].start_byte, one[1] != ARGUMENT, one[1] != STATEMENT))
    parts = {
        (node.start_byte, node.end_byte, capture == BLOCK): _part(node, capture, language) for node, capture in found
    }
    return list(parts.values())


def prose_around(tree: Tree, language: str, start: int, end: int) -> str:
    """Return "comment" or "string" if the bytes are inside one, otherwise "".

    A string counts only if part of it is selected. A whole string is an expression.
    """
    nodes = language_named(language).nodes
    for node in nodes_around(tree, start, end):
        if node.type in nodes.interpolations:
            return ""
        if node.type in nodes.comments:
            return "comment"
        if node.type in nodes.strings:
            is_part = node.start_byte < start or end < node.end_byte
            return "string" if start < end and is_part else ""
    return ""


def is_broken(tree: Tree, start: int, end: int) -> bool:
    """Return whether the smallest node around these bytes has a syntax error."""
    node = tree.root_node.descendant_for_byte_range(start, end)
    return node is not None and node.has_error


def faulty_spans(tree: Tree, first: int, last: int) -> list[tuple[TreePoint, TreePoint]]:
    """Return the broken part of each row from `first` to `last` in which an error begins.

    An error that begins above counts for `first`. Only the innermost errors count. For a missing token the part is
    empty. A column may be beyond the end of its row.
    """
    found: dict[int, tuple[TreePoint, TreePoint]] = {}
    waiting = [tree.root_node] if tree.root_node.has_error else []
    while waiting:
        node = waiting.pop()
        if node.end_point[0] < first or node.start_point[0] > last:
            continue
        within = [child for child in node.children if child.has_error or child.is_missing]
        waiting.extend(within)
        if within or not (node.is_error or node.is_missing):
            continue
        start = max(_point(node.start_point), (first, 0))
        end = min(_point(node.end_point), (start[0], node.end_byte))
        one, other = found.get(start[0], (start, end))
        found[start[0]] = min(one, start), max(other, end)
    return [found[row] for row in sorted(found)]


def _part(node: Node, capture: str, language: str) -> Part:
    label = _label(node, capture, language)
    return Part(label, _point(node.start_point), _point(node.end_point), capture == BLOCK)


def _label(node: Node, capture: str, language: str) -> str:
    parent = node.parent
    if capture == BLOCK:
        around = "" if parent is None else parent.type
        if any(word in around for word in _CALLABLE):
            return "function body"
        return "class body" if "class" in around else "block"
    if node.type in _ENTRIES:
        return "entry"
    if capture == STATEMENT:
        return "statement"
    if node.type in _ARGUMENTS:
        return "arguments"
    if _is_condition(node):
        return "condition"
    if is_strict(language):
        return "value"
    return "name" if node.type.endswith("identifier") else "expression"


def _is_condition(node: Node) -> bool:
    parent = node.parent
    if parent is None:
        return False
    if parent.type == "parenthesized_expression":
        return _is_condition(parent)
    return parent.child_by_field_name("condition") == node


def _point(point: TreePoint) -> TreePoint:
    row, column = point
    return row, column
