"""Compare another node with a template's, and derive how to change it in the same way."""

from dataclasses import dataclass, field
from itertools import pairwise

from tree_sitter import Node

from infill_engine.context.name_exchange import exchanged_names, renamed_word
from infill_engine.edits.similar.templates import Template
from infill_engine.edits.tokens import TOKEN, WORD
from infill_engine.edits.types import Change


@dataclass(slots=True)
class Match:
    """How another node corresponds to a template's: the parts in which it differs, and the changes to make."""

    node: Node
    same: int = 0  # words that are the same in both
    different: int = 0  # kept parts that differ
    names: dict[str, str] = field(default_factory=dict)  # a kept part and its counterpart in the other node
    changes: tuple[Change, ...] = ()

    @property
    def exchanged(self) -> dict[str, str]:
        """The exchanged names, with their parts and other cases."""
        words = {old: new for old, new in self.names.items() if WORD.fullmatch(old) and WORD.fullmatch(new)}
        return exchanged_names(words)


def match(template: Template, other: Node, *, same_shape: bool = False) -> Match | None:
    """Return how to change another node as the template's was changed; None if its shape differs.

    With `same_shape`, its tokens are known to differ in words alone.
    """
    matching = _Matching(template)
    if template.row is not None:
        return _match_lines(template, matching, other)
    if not (matching.align(other) if same_shape else matching.unify(template.node, other)):
        return None
    moved = {token for change in template.changes for token in TOKEN.findall(change.new)}
    for old, new in matching.gone:
        if old in moved:  # it is only moved
            matching.found.names.setdefault(old, new)
    found, changes = matching.found, []
    names, exchanged = found.names, found.exchanged
    if any(_renamed(old, names, exchanged) != new for old, new in matching.gone):
        return None
    for change in template.changes:
        start, end = matching.start_of(change), matching.end_of(change)
        if start is None or end is None or end < start:
            return None
        changes.append(Change(start, end, _renamed(change.new, names, exchanged)))
    if any(one.end > another.start for one, another in pairwise(changes)):
        return None
    found.node, found.changes = other, tuple(changes)
    return found


def _match_lines(template: Template, matching: "_Matching", other: Node) -> Match | None:
    source, change, text = template.source, template.changes[0], template.source.text
    own, start = source.start_of(template.node), source.start_of(other)
    at = text.rfind("\n", 0, start) + 1
    own_indent, indent = text[text.rfind("\n", 0, own) + 1 : own], text[at:start]
    if indent.strip() or not matching.bind(template.node, other):
        return None
    found = matching.found
    found.node = other
    at = text.find("\n", at) + 1 if template.row else at
    if template.row and not at:
        return None
    exchanged = found.exchanged
    new = "".join(
        indent + _renamed(line.removeprefix(own_indent), found.names, exchanged) if line.strip() else line
        for line in change.new.splitlines(keepends=True)
    )
    end = at
    for line in text[change.start : change.end].splitlines():
        last = text.find("\n", end)
        if last < 0 or _renamed(line.strip(), found.names, exchanged) != text[end:last].strip():
            return None
        end = last + 1
    found.changes = (Change(at, end, new),)
    return found


def _renamed(new: str, names: dict[str, str], exchanged: dict[str, str]) -> str:
    for old, own in names.items():
        if not WORD.fullmatch(old) and len(old) > 2 and old in new:
            return new.replace(old, own)
    return WORD.sub(lambda word: renamed_word(word.group(), exchanged), new)


class _Matching:
    """Walks two nodes side by side."""

    def __init__(self, template: Template) -> None:
        self.found = Match(template.node)
        self.gone: list[tuple[str, str]] = []  # words that are removed here and there
        self._changes = template.changes
        self._source = template.source
        self._starts: dict[int, int] = {}
        self._ends: dict[int, int] = {}

    def start_of(self, change: Change) -> int | None:
        """Return the start of a change in the other text."""
        if change.start == change.end and not change.new[-1:].isspace():
            return self._ends.get(change.start, self._starts.get(change.start))
        return self._starts.get(change.start, self._ends.get(change.start))

    def end_of(self, change: Change) -> int | None:
        """Return the end of a change in the other text."""
        if change.start == change.end:
            return self.start_of(change)
        return self._ends.get(change.end, self._starts.get(change.end))

    def unify(self, one: Node, other: Node) -> bool:
        """Return whether the other node has the tokens that the changes need, in the right places."""
        start, end = self._source.span_of(one)
        other_start, other_end = self._source.span_of(other)
        self._starts[start], self._ends[end] = other_start, other_end
        if not any(change.start < end and start < change.end for change in self._changes):
            return self.bind(one, other)
        if one.is_named and any(change.start <= start and end <= change.end for change in self._changes):
            self.gone.append((self._source.text_of(one), self._source.text_of(other)))
            return True
        if one.type != other.type:
            return False
        if not one.child_count:
            return self._is_split_equally(one, other, start, end, other_start)
        ours, theirs = one.children, other.children
        if len(ours) == len(theirs):
            return all(map(self.unify, ours, theirs))
        first = next(at for at, child in enumerate(ours) if self._source.to_char(child.end_byte) > self._first(start))
        last = [at for at, child in enumerate(ours) if self._source.start_of(child) < self._last(end)][-1]
        left, right = max(last, first - 1) + 1, len(ours) - min(first, last + 1)
        self.found.different += 1
        if right <= left:
            return len(theirs) > right and all(map(self.unify, ours[-right:], theirs[-right:]))
        return len(theirs) > left and all(map(self.unify, ours[:left], theirs[:left]))

    def align(self, other: Node) -> bool:
        """Return whether the other node has as many tokens, and pair them one by one."""
        text = self._source.text
        ours, theirs = (list(TOKEN.finditer(text, *self._source.span_of(one))) for one in (self.found.node, other))
        for one, another in zip(ours, theirs, strict=False):
            self._starts[one.start()], self._ends[one.end()] = another.start(), another.end()
            gone = any(change.start <= one.start() and one.end() <= change.end for change in self._changes)
            if gone:
                self.gone.append((one.group(), another.group()))
            elif one.group() == another.group():
                self.found.same += bool(WORD.match(one.group()))
            elif self.found.names.setdefault(one.group(), another.group()) != another.group():
                return False
        self.found.different = len(self.found.names)
        return len(ours) == len(theirs)

    def _first(self, start: int) -> int:
        return next(max(start, change.start) for change in self._changes if change.end >= start)

    def _last(self, end: int) -> int:
        return [min(end, change.end) for change in self._changes if change.start <= end][-1]

    def _is_split_equally(self, one: Node, other: Node, start: int, end: int, other_start: int) -> bool:
        """Return whether a token that is partly changed is the same in both."""
        if self._source.text_of(one) != self._source.text_of(other):
            return False
        for change in self._changes:
            for at, places in ((change.start, self._starts), (change.end, self._ends)):
                if start < at < end:
                    places[at] = other_start + at - start
        return True

    def bind(self, one: Node, other: Node) -> bool:
        """Record the counterpart of a kept part in the other node."""
        old, new = self._source.text_of(one), self._source.text_of(other)
        if old == new:
            self.found.same += len(WORD.findall(old))
            return True
        if one.type == other.type and one.child_count and one.child_count == other.child_count:
            return all(map(self.bind, one.children, other.children))
        if not one.is_named or not other.is_named:
            return False
        self.found.different += 1
        return self.found.names.setdefault(old, new) == new
