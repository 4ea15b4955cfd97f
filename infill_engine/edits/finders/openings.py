"""Lines were added at the beginning of two functions: propose them for the functions beside them.

def a(x):                           def b(y):                           and so     def c(z):
    if x is None:                       if y is None:                                  if z is None:
        return                              return                                         return

A parameter in them is replaced by the other function's parameter of the same name, or else of the same place.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.parsed_text import ParsedText, ancestors
from infill_engine.edits.resolution.captures import defined_in
from infill_engine.edits.types import Edit, Kind, Proposal, counted
from infill_engine.text import lines

ONE, ALL = 0.62, 0.56
MOST_CHARS = 400  # of the lines
MOST_FUNCTIONS = 12  # that would get them
_WRAPPERS = ("decorated_definition", "export_statement")


@dataclass(frozen=True, slots=True)
class _Function:
    """A function with the statements of its body and its parameters, each with its text without the name."""

    node: Node
    statements: list[Node]
    parameters: dict[str, str]

    def first(self, source: ParsedText, count: int) -> str:
        """Return the text of the first statements."""
        start, end = self.statements[0].start_byte, self.statements[count - 1].end_byte
        return source.text[source.to_char(start) : source.to_char(end)].rstrip()

    def outline(self, text: str) -> str:
        """Return a text with the places of the parameters in place of their names."""
        return _renamed(text, {name: f"\0{at}" for at, name in enumerate(self.parameters)})


def propose_openings(edit: ParsedEdit) -> list[Proposal]:
    """Return up to two proposals: the next function, and all functions beside the edited one."""
    source, written = edit.after, [_added(*one) for one in edit.history]
    if not edit.changes or not edit.changes[-1].new.strip() or len(written) < 2:
        return []
    added = edit.changes[-1].new
    last = edit.shift.offset(edit.changes[-1].end)
    start, end = last - len(added.lstrip()), last - len(added) + len(added.rstrip())
    inside = source.node_at(start, max(start + 1, end))
    around = (one for one in (inside, *ancestors(inside)) if one.type in source.syntax.functions)
    own = next((found for one in around if (found := _function(source, one)) is not None), None)
    count = 0 if own is None else _count(source, own, start, end)
    if own is None or not 0 < count < len(own.statements) or len(own.first(source, count)) > MOST_CHARS:
        return []
    others = [one for node in _beside(own.node) if (one := _function(source, node)) is not None]
    outline = own.outline(own.first(source, count))
    opened = [one for one in others if len(one.statements) > count and one.outline(one.first(source, count)) == outline]
    before = [one for one in opened if any(_line(one.first(source, count)) in added for added in written[:-1])]
    if not before or _line(own.first(source, count)) not in written[-1]:
        return []
    made = [one for other in others if other not in opened for one in _addition(source, own, before[0], other, count)]
    nearest = sorted(made, key=lambda one: (one.span.start < start, abs(one.span.start - start)))[:1]
    groups = [(nearest, ONE)] * bool(made) + [(made, ALL)] * (1 < len(made) <= MOST_FUNCTIONS)
    return [
        Proposal(tuple(edits), f"begin {counted(len(edits), 'more function')} like this", certain, Kind.SIMILAR_LINE)
        for edits, certain in groups
    ]


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """Return a text with other names, also after a sigil."""
    found = re.compile(r"(\$?)([\w$]+)")
    return found.sub(lambda one: names.get(one[0]) or one[1] + names.get(one[2], one[2]), text)


def _added(old: str, new: str) -> set[str]:
    return {line.strip() for line in new.split("\n")} - {line.strip() for line in old.split("\n")}


def _line(text: str) -> str:
    return text.split("\n")[0].strip()


def _count(source: ParsedText, own: _Function, start: int, end: int) -> int:
    """Return how many of the first statements are what was added; 0 if something else is."""
    spans = [source.span_of(one) for one in own.statements]
    added = [first >= start and last <= end + 1 for first, last in spans]
    count = added.index(False) if False in added else 0
    return count if spans[0][0] == start and not any(added[count:]) else 0


def _function(source: ParsedText, node: Node) -> _Function | None:
    body, declarator = node.child_by_field_name("body"), node.child_by_field_name("declarator") or node
    listed = node.child_by_field_name("parameters") or declarator.child_by_field_name("parameters")
    if body is None:
        return None
    while body.named_child_count == 1 and body.named_children[0].type == "statement_list":
        body = body.named_children[0]
    statements = [one for one in body.named_children if one.type not in source.nodes.comments]
    if statements and _is_text(source, statements[0]):
        del statements[0]
    parameters: dict[str, str] = {}
    for one in () if listed is None else listed.named_children:
        for name in defined_in(source, *source.span_of(one)):
            parameters[name.name] = re.sub(rf"\b{re.escape(name.name)}\b", "", source.text_of(one)).strip()
    return _Function(node, statements, parameters) if statements else None


def _is_text(source: ParsedText, statement: Node) -> bool:
    inside = statement.named_children[0] if statement.named_child_count == 1 else statement
    return inside.type in source.nodes.strings


def _beside(node: Node) -> Iterator[Node]:
    """Yield the other functions in the same body, without what wraps them."""
    top = node
    while top.parent is not None and (top.parent.named_child_count == 1 or top.parent.type in _WRAPPERS):
        top = top.parent
    for one in () if top.parent is None else top.parent.named_children:
        inside = one.child_by_field_name("definition") or one.child_by_field_name("declaration") or one
        if inside != node and inside.type == node.type:
            yield inside


def _addition(source: ParsedText, own: _Function, like: _Function, other: _Function, count: int) -> Sequence[Edit]:
    """Return the insertion of the first statements of a function in another one, if it has the parameters."""
    text, first = own.first(source, count), source.start_of(other.statements[0])
    places = list(other.parameters)
    names: dict[str, str] = {}
    for at, name in enumerate(own.parameters):
        if not re.search(rf"(?<![\w$])\$?{re.escape(name)}(?![\w$])", text):
            continue
        named = name if name in places else places[at] if at < len(places) else ""
        typed = like.parameters[list(like.parameters)[at]] == own.parameters[name]
        if not named or (typed and other.parameters[named] != own.parameters[name]):
            return []
        names[name] = named
    made = _renamed(text, names)
    start = lines.start_of(source.text, first)
    if source.text[start:first].strip() or _line(made) in source.text_of(other.node):
        return []
    after, following = own.statements[count - 1], own.statements[count]
    end = source.start_of(after) + len(source.text_of(after).rstrip())
    gap = source.text[end : source.start_of(following)]
    return [Edit.insertion(first, made + gap)] if not gap.strip() and "\n" in gap else []
