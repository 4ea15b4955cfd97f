"""One edit as an example for others: the syntax node that it changed, and other nodes that can be changed alike.

    check(a, b)  became  check(a, b, strict)         and so   check(left(c), d)  becomes  check(left(c), d, strict)

What the edit kept of its node may be something else in another node. What it removed must be the same there, with the
other node's names.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import pairwise

from tree_sitter import Node

from infill_engine.context.name_exchange import exchanged_names, renamed_word
from infill_engine.edits.changes import changed_lines
from infill_engine.edits.source import Source
from infill_engine.edits.types import Change

MOST_NODE_CHARS = 600  # of the node that an edit changed
LONGEST_LINES = 1200  # characters that are compared word by word

TOKEN = re.compile(r"\w+|[^\w\s]")
WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Template:
    """A node that an edit changed, or that begins a line beside one that it inserted or removed.

    `changes` replace whole tokens of the node, or one of them is lines beside the node: inserted in front of `row` or
    removed there, `row` counting from the node's own.
    """

    source: Source
    node: Node
    changes: tuple[Change, ...]
    row: int | None = None

    @property
    def span(self) -> tuple[int, int]:
        """Where the node is, in characters."""
        return self.source.span_of(self.node)

    @property
    def removed(self) -> list[str]:
        """The tokens that the changes take away."""
        return [token for one in self.changes for token in TOKEN.findall(self.source.text, one.start, one.end)]

    @property
    def inserted(self) -> list[str]:
        """The tokens that they bring."""
        return [token for one in self.changes for token in TOKEN.findall(one.new)]

    @property
    def kept(self) -> list[tuple[int, str]]:
        """The words of the node that stay, and where they are."""
        words = (found for found in WORD.finditer(self.source.text, *self.span))
        gone = [(one.start, one.end) for one in self.changes]
        return [
            (word.start(), word.group())
            for word in words
            if not any(start < word.end() and word.start() < end for start, end in gone)
        ]


@dataclass(slots=True)
class Match:
    """How another node corresponds to a template's: what it has instead, and the changes to make in it."""

    node: Node
    same: int = 0  # words that are the same in both
    different: int = 0  # kept parts that differ
    names: dict[str, str] = field(default_factory=dict)  # what a kept part is called in the other node
    changes: tuple[Change, ...] = ()

    @property
    def exchanged(self) -> dict[str, str]:
        """The names, and the parts and other cases of them."""
        words = {old: new for old, new in self.names.items() if WORD.fullmatch(old) and WORD.fullmatch(new)}
        return exchanged_names(words)


def templates(before: Source, after: str, changes: Sequence[Change]) -> Iterator[Template]:
    """Yield the templates of each line or group of neighbouring lines that the changes touch."""
    for start, end, new in changed_lines(before.text, after, changes):
        lines = _whole_lines(before.text, start, end, new)
        if lines is not None:
            yield from _beside(before, lines)
            continue
        edits = token_changes(before.text[start:end], new, start)
        node = None if not edits else _node_around(before, edits)
        if node is not None:
            yield Template(before, node, edits)


def token_changes(old: str, new: str, offset: int = 0) -> tuple[Change, ...]:
    """Return the changes of whole tokens that lead from one text to another; offsets begin at `offset`."""
    if max(len(old), len(new)) > LONGEST_LINES:
        return ()
    ours, theirs = list(TOKEN.finditer(old)), list(TOKEN.finditer(new))
    matcher = SequenceMatcher(None, [one.group() for one in ours], [one.group() for one in theirs], autojunk=False)
    found = []
    for tag, first, last, new_first, new_last in matcher.get_opcodes():
        if tag == "equal":
            continue
        start = ours[first - 1].end() if first else 0
        end = ours[last].start() if last < len(ours) else len(old)
        new_start = theirs[new_first - 1].end() if new_first else 0
        new_end = theirs[new_last].start() if new_last < len(theirs) else len(new)
        gone, fresh = old[start:end], new[new_start:new_end]
        most = min(len(gone), len(fresh))
        left = next((at for at in range(most) if gone[at] != fresh[at] or not gone[at].isspace()), most)
        most -= left
        right = next((at for at in range(most) if gone[-1 - at] != fresh[-1 - at] or not gone[-1 - at].isspace()), most)
        found.append(Change(offset + start + left, offset + end - right, fresh[left : len(fresh) - right]))
    return tuple(found)


def match(template: Template, source: Source, other: Node) -> Match | None:
    """Return how to change another node as the template's was changed; None if it is of another shape."""
    matching = _Matching(template, source)
    if template.row is not None:
        return _match_lines(template, matching, other)
    if not matching.unify(template.node, other):
        return None
    moved = {token for change in template.changes for token in TOKEN.findall(change.new)}
    for old, new in matching.gone:
        if old in moved:  # it is only put elsewhere
            matching.found.names.setdefault(old, new)
    changes = []
    names, exchanged = matching.found.names, matching.found.exchanged
    if any(_renamed(old, names, exchanged) != new for old, new in matching.gone):
        return None
    for change in template.changes:
        start, end = matching.start_of(change), matching.end_of(change)
        if start is None or end is None or end < start:
            return None
        changes.append(Change(start, end, _renamed(change.new, names, exchanged)))
    if any(one.end > another.start for one, another in pairwise(changes)):
        return None
    found = matching.found
    found.node, found.changes = other, tuple(changes)
    return found


def _match_lines(template: Template, matching: "_Matching", other: Node) -> Match | None:
    source, node, change = matching.other, template.node, template.changes[0]
    text = source.text
    starts = [text.rfind("\n", 0, source.to_char(one.start_byte)) + 1 for one in (node, other)]
    indents = [text[start : source.to_char(one.start_byte)] for start, one in zip(starts, (node, other), strict=True)]
    if indents[1].strip() or not matching.bind(node, other):
        return None
    found = matching.found
    found.node = other
    at = starts[1]
    if template.row:
        at = text.find("\n", at) + 1
        if not at:
            return None
    exchanged = found.exchanged
    new = "".join(
        indents[1] + _renamed(line.removeprefix(indents[0]), found.names, exchanged) if line.strip() else line
        for line in change.new.splitlines(keepends=True)
    )
    gone = text[change.start : change.end]
    end = at
    for line in gone.splitlines():
        last = text.find("\n", end)
        if last < 0:
            return None
        if _renamed(line.strip(), found.names, exchanged) != text[end:last].strip():
            return None
        end = last + 1
    found.changes = (Change(at, end, new),)
    return found


def _renamed(new: str, names: dict[str, str], exchanged: dict[str, str]) -> str:
    for old, own in names.items():
        if not WORD.fullmatch(old) and len(old) > 2 and old in new:
            return new.replace(old, own)
    return WORD.sub(lambda word: renamed_word(word.group(), exchanged), new)


def _whole_lines(before: str, start: int, end: int, new: str) -> Change | None:
    """Return the insertion or the removal of whole lines that a group of lines is; None if it is anything else."""
    old_lines, new_lines = before[start:end].split("\n"), new.split("\n")
    most = min(len(old_lines), len(new_lines))
    top = next((at for at in range(most) if old_lines[at] != new_lines[at]), most)
    most -= top
    low = next((at for at in range(most) if old_lines[-1 - at] != new_lines[-1 - at]), most)
    gone, fresh = old_lines[top : len(old_lines) - low], new_lines[top : len(new_lines) - low]
    if bool(gone) == bool(fresh) or not low or not "".join((*gone, *fresh)).strip():
        return None
    at = start + sum(len(line) + 1 for line in old_lines[:top])
    return Change(at, at + sum(len(line) + 1 for line in gone), "".join(f"{line}\n" for line in fresh))


def _beside(source: Source, lines: Change) -> Iterator[Template]:
    """Yield what stands below and above inserted lines, or the first of removed ones."""
    below = _first_in_line(source, lines.start)
    if below is not None:
        yield Template(source, below, (lines,), 0)
    if lines.new and lines.start:
        above = _first_in_line(source, source.text.rfind("\n", 0, lines.start - 1) + 1)
        if above is not None and above.start_point[0] == above.end_point[0]:
            yield Template(source, above, (lines,), 1)


def _first_in_line(source: Source, start: int) -> Node | None:
    """Return the largest node that begins a line and ends in it, or, if none does, the smallest that ends later."""
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


def _node_around(source: Source, changes: Sequence[Change]) -> Node | None:
    start, end = changes[0].start, changes[-1].end
    if start == end:  # between two tokens of a line
        line = source.text.rfind("\n", 0, start) + 1
        stop = source.text.find("\n", start)
        left = [found.start() for found in TOKEN.finditer(source.text, line, start)]
        right = next((found.end() for found in TOKEN.finditer(source.text, start, stop if stop >= 0 else start)), end)
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


class _Matching:
    """Walks two nodes side by side."""

    def __init__(self, template: Template, source: Source) -> None:
        self.found = Match(template.node)
        self.gone: list[tuple[str, str]] = []  # words that are removed here and there
        self._changes = template.changes
        self._one, self.other = template.source, source
        self._starts: dict[int, int] = {}
        self._ends: dict[int, int] = {}

    def start_of(self, change: Change) -> int | None:
        """Return where a change begins in the other text."""
        if change.start == change.end and not change.new[-1:].isspace():
            return self._ends.get(change.start, self._starts.get(change.start))
        return self._starts.get(change.start, self._ends.get(change.start))

    def end_of(self, change: Change) -> int | None:
        """Return where it ends."""
        if change.start == change.end:
            return self.start_of(change)
        return self._ends.get(change.end, self._starts.get(change.end))

    def unify(self, one: Node, other: Node) -> bool:
        """Return whether the other node has what the changes need where they need it."""
        start, end = self._one.span_of(one)
        other_start, other_end = self.other.span_of(other)
        self._starts[start], self._ends[end] = other_start, other_end
        if not any(change.start < end and start < change.end for change in self._changes) and not any(
            start < change.start == change.end < end for change in self._changes
        ):
            return self.bind(one, other)
        if one.is_named and any(change.start <= start and end <= change.end for change in self._changes):
            self.gone.append((self._one.text_of(one), self.other.text_of(other)))
            return True
        if one.type != other.type:
            return False
        if not one.child_count:
            return self._is_split_alike(one, other, start, end, other_start)
        ours, theirs = one.children, other.children
        if len(ours) == len(theirs):
            return all(map(self.unify, ours, theirs))
        first = next(at for at, child in enumerate(ours) if self._one.to_char(child.end_byte) > self._first(start))
        last = [at for at, child in enumerate(ours) if self._one.to_char(child.start_byte) < self._last(end)][-1]
        left, right = max(last, first - 1) + 1, len(ours) - min(first, last + 1)
        self.found.different += 1
        if right <= left:
            return len(theirs) > right and all(map(self.unify, ours[-right:], theirs[-right:]))
        return len(theirs) > left and all(map(self.unify, ours[:left], theirs[:left]))

    def _first(self, start: int) -> int:
        return next(max(start, change.start) for change in self._changes if change.end >= start)

    def _last(self, end: int) -> int:
        return [min(end, change.end) for change in self._changes if change.start <= end][-1]

    def _is_split_alike(self, one: Node, other: Node, start: int, end: int, other_start: int) -> bool:
        """Return whether a token that is changed in part is the same in both."""
        if self._one.text_of(one) != self.other.text_of(other):
            return False
        for change in self._changes:
            for at, places in ((change.start, self._starts), (change.end, self._ends)):
                if start < at < end:
                    places[at] = other_start + at - start
        return True

    def bind(self, one: Node, other: Node) -> bool:
        """Note what a kept part is in the other node."""
        old, new = self._one.text_of(one), self.other.text_of(other)
        if old == new:
            self.found.same += len(WORD.findall(old))
            return True
        if one.type == other.type and one.child_count and one.child_count == other.child_count:
            return all(map(self.bind, one.children, other.children))
        if not one.is_named or not other.is_named:
            return False
        self.found.different += 1
        return self.found.names.setdefault(old, new) == new
