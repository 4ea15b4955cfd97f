"""An edit as an example: the syntax node that it changed, and what other nodes must have to be changed the same way.

    check(a, b)  became  check(a, b, strict)         and so   check(left(c), d)  becomes  check(left(c), d, strict)

The parts that the edit kept may differ in another node. The parts that it removed must be the same there, with the
other node's names.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from infill_engine.edits.changes import changed_lines
from infill_engine.edits.parsed_text import ParsedText
from infill_engine.edits.tokens import TOKEN, WORD, token_changes
from infill_engine.edits.types import Change
from infill_engine.text.lines import around
from infill_engine.text.sequences import common_ends

MOST_NODE_CHARS = 600  # characters of the node that an edit changed


@dataclass(frozen=True, slots=True)
class Template:
    """A node that an edit changed, or that begins a line beside one that it inserted or removed.

    `changes` replace whole tokens of the node, or insert lines before `row` or remove them there. `row` counts from the
    node's own.
    """

    source: ParsedText
    node: Node
    changes: tuple[Change, ...]
    row: int | None = None

    @property
    def span(self) -> tuple[int, int]:
        """The node's start and end, in characters."""
        return self.source.span_of(self.node)

    @property
    def removed(self) -> list[str]:
        """The tokens that the changes take away."""
        return [token for one in self.changes for token in TOKEN.findall(self.source.text, one.start, one.end)]

    @property
    def inserted(self) -> list[str]:
        """The tokens that the changes insert."""
        return [token for one in self.changes for token in TOKEN.findall(one.new)]

    @property
    def kept(self) -> list[tuple[int, str]]:
        """The words of the node that stay, with their places."""
        gone = [range(one.start, one.end) for one in self.changes]
        words = WORD.finditer(self.source.text, *self.span)
        kept = (word for word in words if not any(one.start < word.end() and word.start() < one.stop for one in gone))
        return [(word.start(), word.group()) for word in kept]


def templates(before: ParsedText, after: str, changes: Sequence[Change]) -> Iterator[Template]:
    """Yield the templates of each line or group of adjacent lines that the changes touch."""
    for start, end, new in changed_lines(before.text, after, changes):
        lines = _whole_lines(before.text, start, end, new)
        if lines is not None:
            yield from _beside(before, lines)
            continue
        edits = token_changes(before.text[start:end], new, start)
        node = None if not edits else _node_around(before, edits)
        if node is not None:
            yield Template(before, node, edits)


def _whole_lines(before: str, start: int, end: int, new: str) -> Change | None:
    """Return the change of a group of lines, if it only inserts or only removes whole lines."""
    old_lines, new_lines = before[start:end].split("\n"), new.split("\n")
    top, low = common_ends(old_lines, new_lines)
    gone, fresh = old_lines[top : len(old_lines) - low], new_lines[top : len(new_lines) - low]
    if bool(gone) == bool(fresh) or not low or not "".join((*gone, *fresh)).strip():
        return None
    at = start + sum(len(line) + 1 for line in old_lines[:top])
    return Change(at, at + sum(len(line) + 1 for line in gone), "".join(f"{line}\n" for line in fresh))


def _beside(source: ParsedText, lines: Change) -> Iterator[Template]:
    """Yield the nodes below and above inserted lines, or the first of removed lines."""
    below = _first_in_line(source, lines.start)
    if below is not None:
        yield Template(source, below, (lines,), 0)
    if lines.new and lines.start:
        above = _first_in_line(source, source.text.rfind("\n", 0, lines.start - 1) + 1)
        if above is not None and above.start_point[0] == above.end_point[0]:
            yield Template(source, above, (lines,), 1)


def _first_in_line(source: ParsedText, start: int) -> Node | None:
    """Return the largest node that begins a line and ends in it, otherwise the smallest that ends later."""
    found = TOKEN.search(source.text, start)
    if found is None or "\n" in source.text[start : found.start()]:
        return None
    node = source.node_at(found.start(), found.end())
    while node.parent is not None and node.parent.start_byte == node.start_byte:
        if node.start_point[0] != node.end_point[0] or source.to_char(node.parent.end_byte) - start > MOST_NODE_CHARS:
            break
        if node.parent.end_point[0] != node.start_point[0] and any(map(str.isalpha, source.text_of(node))):
            break
        node = node.parent
    return node if any(map(str.isalpha, source.text_of(node))) else None


def _node_around(source: ParsedText, changes: Sequence[Change]) -> Node | None:
    start, end = changes[0].start, changes[-1].end
    if start == end:  # between two tokens of a line
        line, stop = around(source.text, start, end)
        left = [found.start() for found in TOKEN.finditer(source.text, line, start)]
        right = next((found.end() for found in TOKEN.finditer(source.text, start, stop)), end)
        start, end = (left[-1] if left else start), right
    node: Node | None = source.node_at(start, end)
    removed = any(WORD.search(source.text, one.start, one.end) for one in changes)
    while node is not None:
        first, last = source.span_of(node)
        if last - first > MOST_NODE_CHARS or node.parent is None:
            return None
        if removed or any(len(word) > 1 for word in WORD.findall(source.text, first, last)):
            return node
        node = node.parent
    return None
