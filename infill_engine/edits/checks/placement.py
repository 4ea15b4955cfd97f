"""What a grammar accepts and the language refuses: the order and the names of a list, and `await` where nothing waits.

f(k=1, 2)      def f(a=1, b)      f(k=1, k=2)      def f(): await load()
"""

import re
from collections.abc import Iterable, Iterator

from tree_sitter import Node

from infill_engine.edits.constructs.parameters import label_of
from infill_engine.edits.parsed_text import ParsedText, ancestors

MOST_NODES = 400  # below a changed place
_ASYNC = re.compile(r"\basync\b")


def misplaced(source: ParsedText, spans: Iterable[tuple[int, int]]) -> int:
    """Return the number of such faults around and inside some places of a text. Spans are in characters."""
    nodes = {node.id: node for start, end in spans for node in _nodes(source, start, end)}
    return sum(_faults(source, node) for node in nodes.values())


def _nodes(source: ParsedText, start: int, end: int) -> Iterator[Node]:
    first, last = source.to_byte(start), source.to_byte(end)
    waiting = [source.node_at(start, end)]
    yield from ancestors(waiting[0])
    for _ in range(MOST_NODES):
        if not waiting:
            break
        node = waiting.pop()
        yield node
        waiting += [child for child in node.children if child.start_byte <= last and first <= child.end_byte]


def _faults(source: ParsedText, node: Node) -> int:
    syntax = source.syntax
    if node.type in syntax.argument_lists:
        return _in_list(source, node, syntax.last_arguments)
    if node.type in syntax.parameter_lists:
        return _in_list(source, node, syntax.last_parameters)
    return int(node.is_named and bool(syntax.awaits) and node.type.startswith("await") and not _may_wait(source, node))


def _in_list(source: ParsedText, listed: Node, last: frozenset[str]) -> int:
    """Return how many elements follow one that must be behind them, and how many have the name of another one."""
    syntax, is_behind, count = source.syntax, False, 0
    names: list[str] = []
    for node in listed.named_children:
        name = label_of(node) if node.type in (*syntax.named_arguments, *last) else None
        names += [] if name is None else [source.text_of(name)]
        if node.type in last and (name is not None or node.type not in syntax.named_arguments):
            is_behind = True
        elif node.type in (*syntax.rests, "keyword_separator"):
            is_behind = False
        elif is_behind and node.type not in (*syntax.splats, *syntax.markers, *source.nodes.comments):
            rest = any(child.type in syntax.rests for child in node.named_children[:1])
            count += not rest and node.child_by_field_name("value") is None
    return count + len(names) - len(set(names))


def _may_wait(source: ParsedText, node: Node) -> bool:
    """Return whether the function around an `await` is asynchronous, or there is none."""
    for around in ancestors(node):
        if around.type == "async_block":
            return True
        if around.type in source.syntax.functions:
            return _ASYNC.search(source.text, source.start_of(around), source.head_end(around)) is not None
    return True
