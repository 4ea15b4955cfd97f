"""Lines that differ from an edited one in their names alone: where they are, and how likely they change as it did.

self.width = int(width)          became     self.width = max(0, int(width))
self.height = int(height)        and so     self.height = max(0, int(height))

Version histories have too few of them to fit their weights, so these are set by hand.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import takewhile

from tree_sitter import Node

from infill_engine.context.line_shapes import is_name, names_in, shape_of
from infill_engine.edits.changes import words_changed
from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.parsed_text import ancestors, enclosing, holds
from infill_engine.edits.similar.templates import Template
from infill_engine.edits.tokens import TOKEN, WORD
from infill_engine.text import lines

REACH_LINES = 25  # above and below
LEAST_TOKENS = 5  # of a line that has a shape of its own
LONGEST_LINE = 300
BASE, EACH_ANCHOR, MOST_ANCHORS = 0.47, 0.04, 4  # an anchor is a name that both lines have
MOVED = 0.1  # additional confidence if words are only swapped
NEXT_TO = 1.1  # factor for a line on the next row
SAME_BRANCHING, OTHER_BRANCHING = 1.05, 0.92  # factors for lines in the same `if`, and outside of it


@dataclass(frozen=True, slots=True)
class Shape:
    """The line of a template. `text` is the line, `start` where it begins, and `shape` what others must have."""

    example: Template
    start: int
    text: str
    shape: str

    @classmethod
    def of(cls, edit: ParsedEdit, example: Template) -> "Shape | None":
        """Return the shape of an edit's only template; None if other lines do not follow it by their shape alone."""
        source, language = example.source, example.source.language
        start, end = lines.around(source.text, *example.span)
        text = source.text[start:end]
        long_enough = len(TOKEN.findall(text)) >= LEAST_TOKENS and names_in(text, language)
        several = "\n" in text or any("\n" in change.new for change in example.changes)
        if example.row is not None or several or len(text) > LONGEST_LINE or not long_enough:
            return None
        words = list(words_changed(source.text, edit.changes, language))
        if len(words) == 1 and all(one.isidentifier() for one in (source.text[slice(*words[0][:2])], words[0][2])):
            return None  # what another line means, a name alone does not say
        if all(token[0].isdigit() for token in (*example.removed, *example.inserted)):
            return None  # numbers often change in one line only
        begin = start + len(text) - len(text.lstrip())
        first = source.node_at(begin, begin + 1)
        tops = (one for one in (first, *ancestors(first)) if one.start_byte >= source.to_byte(begin))
        if any(one.type in source.syntax.declarations for top in tops for one in (top, *top.named_children)):
            return None  # functions of the same shape are different functions
        if enclosing(first, source.syntax.parameter_lists) is not None:
            return None
        return cls(example, start, text, shape_of(text.strip(), language))

    def nodes(self) -> Iterator[Node]:
        """Yield the nodes at the template's place in the lines around."""
        source, (start, end) = self.example.source, self.example.span
        count = len(TOKEN.findall(source.text, self.start, start))
        places = slice(count, count + len(TOKEN.findall(source.text, start, end)))
        row = self.example.node.start_point[0]
        rows, top = source.text.split("\n")[: row + REACH_LINES + 1], max(0, row - REACH_LINES)
        at = sum(len(text) + 1 for text in rows[:top])
        for text in rows[top:]:
            if at != self.start and len(text) <= LONGEST_LINE and self._fits(text):
                tokens = list(TOKEN.finditer(text))[places]
                node = source.node_at(at + tokens[0].start(), at + tokens[-1].end())
                yield from takewhile(partial(holds, node), (node, *ancestors(node)))
            at += len(text) + 1

    def confidence(self, other: Node) -> float:
        """Return how likely the user wants another node changed; 0 if its line has another shape."""
        example, source, language = self.example, self.example.source, self.example.source.language
        distance = abs(other.start_point[0] - example.node.start_point[0])
        text = source.line_at(source.start_of(other))
        if not 0 < distance <= REACH_LINES or not self._fits(text):
            return 0.0
        pairs = zip(TOKEN.findall(self.text), TOKEN.findall(text), strict=True)
        anchors = {one for one, another in pairs if one == another and WORD.match(one) and is_name(one, language)}
        moved = MOVED if sorted(example.removed) == sorted(example.inserted) else 0.0
        certain = BASE + moved + EACH_ANCHOR * min(len(anchors.difference(example.removed)), MOST_ANCHORS)
        branching = enclosing(example.node, source.syntax.branchings)
        if branching is not None:
            certain *= SAME_BRANCHING if holds(branching, other) else OTHER_BRANCHING
        return certain * (NEXT_TO if distance == 1 else 1.0)

    def _fits(self, text: str) -> bool:
        same = shape_of(text.strip(), self.example.source.language) == self.shape
        return same and len(TOKEN.findall(text)) == len(TOKEN.findall(self.text))
