"""Which definitions of a name mean the same thing, where one scope has several.

a second function, class, field, parameter     another thing that was copied; nobody knows which one the uses mean
overloads, accessors, branches                 one thing
a variable that is assigned again              one thing with those assignments that reach one of its uses
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tree_sitter import Node

from infill_engine.edits.occurrence import Occurrence, Role
from infill_engine.edits.source import Source, ancestors, enclosing

MOST_COMPARED = 150  # occurrences of a name that is defined several times
TOGETHER = 0.8  # times the confidence, where the flow of control ties definitions together or apart
ELSEWHERE = 0.65  # times that, where another function defines the name

_ASSIGNED = ("hoisted", "assigned", "free", "")  # kinds of variables that may be defined again in every language
_ENDS = re.compile(r"(?:return|raise|throw|exit|die|panic)\b")
_UPDATES = re.compile(r"\s*[-+*/%&|^<>?.]+=(?!=)")


@dataclass(frozen=True, slots=True)
class Meant:
    """The occurrences that mean what the user has changed, and how certain that is, as a factor."""

    occurrences: tuple[Occurrence, ...]
    certain: float = 1.0


def meant_by(
    source: Source, group: Sequence[Occurrence], edited: Sequence[Occurrence], defining: Sequence[Occurrence]
) -> Meant | None:
    """Return what of a group the edited occurrences mean; None if a definition that stays may mean another thing.

    `defining` are the definitions of the group.
    """
    first = min(edited, key=lambda one: one.start)
    others = [one for one in defining if one not in edited]
    if not others or len(group) > MOST_COMPARED:
        return Meant(tuple(group))
    places = {one.start: _Place(source, one) for one in group}
    for one in edited:
        if one in defining and _is_copied(source, places[one.start], [places[other.start] for other in others]):
            return None
    flow = _Flow(source, [places[one.start] for one in group], {one.start for one in defining})
    if any(flow.is_dead_before(places[one.start]) for one in edited if one in defining):
        return None
    if first.start <= min(one.start for one in others):
        return Meant(tuple(group))
    if all(place.declared for place in flow.definitions):
        joint = any(places[one.start].belongs_to(places[first.start]) for one in others)
        return Meant(tuple(group), TOGETHER if joint else ELSEWHERE)
    found = flow.webs_of([places[one.start] for one in edited])
    if len(found) < len(group):
        return Meant(tuple(place.one for place in found), TOGETHER)
    nearby = all(places[one.start].function == places[first.start].function for one in others)
    return Meant(tuple(group), TOGETHER if nearby else ELSEWHERE)


class _Place:
    """An occurrence with the nodes around it that decide when it runs."""

    def __init__(self, source: Source, one: Occurrence) -> None:
        self.source, self.one = source, one
        self.around = [one.node, *ancestors(one.node)]
        syntax = source.syntax
        again = one.kind in _ASSIGNED or (one.kind == "variable" and syntax.redefines)
        self.declared = one.role is Role.DEFINITION and not again
        self._blocks = (
            source.nodes.bodies
            | syntax.clauses
            | syntax.functions
            | syntax.parameter_lists
            | syntax.branchings
            | syntax.loops
        )

    @cached_property
    def block(self) -> Node:
        """The node all of which runs after the occurrence, once it has run."""
        own = self.owner
        return next(
            (node for node in self.around[1:] if node != own and node.type in self._blocks), self.around[-1]
        )

    @cached_property
    def owner(self) -> Node | None:
        """The function that the occurrence is the name of."""
        for node in self.around[1:]:
            if node.type in self.source.syntax.functions:
                body = node.child_by_field_name("body")
                inside = body is not None and body.start_byte <= self.one.node.start_byte
                listed = any(above.type in self.source.syntax.parameter_lists for above in self.around)
                return None if inside or listed else node
        return None

    @cached_property
    def function(self) -> int:
        """The id of the function that the occurrence runs in."""
        found = next(
            (node for node in self.around[1:] if node != self.owner and node.type in self.source.syntax.functions), None
        )
        return self.around[-1].id if found is None else found.id

    @cached_property
    def statement(self) -> Node:
        """The node in the block that the occurrence stands in."""
        at = self.around.index(self.block)
        return self.around[max(at - 1, 0)]

    @cached_property
    def loops(self) -> list[Node]:
        """The loops around the occurrence, innermost first."""
        return [node for node in self.around if node.type in self.source.syntax.loops]

    @cached_property
    def value(self) -> Node | None:
        """What a definition gets: uses in it mean the definition before."""
        for node in self.around[1:]:
            found = node.child_by_field_name("right") or node.child_by_field_name("value")
            if found is not None or node == self.statement:
                return found or (node if node.type in self.source.syntax.assignments else None)
        return None

    @cached_property
    def has_body(self) -> bool:
        """Whether the occurrence is the name of a function with a body."""
        return self.owner is not None and self.owner.child_by_field_name("body") is not None

    @cached_property
    def has_value(self) -> bool:
        """Whether the occurrence gets a value where it is defined."""
        return "=" in self.source.text[self.one.end : self.source.to_char(self.statement.end_byte)]

    def excludes(self, other: "_Place") -> bool:
        """Return whether both stand in branches of which one runs at most."""
        mine = {node.id: at for at, node in enumerate(self.around)}
        at = next((at for at, node in enumerate(other.around) if node.id in mine), 0)
        own = mine.get(other.around[at].id, 0)
        if not at or not own:
            return False
        joint, pair = other.around[at], (self.around[own - 1], other.around[at - 1])
        return joint.child_by_field_name("alternative") in pair or any(
            node.type in self.source.syntax.clauses for node in pair
        )

    def belongs_to(self, other: "_Place") -> bool:
        """Return whether both are declared in one block, or in branches of one."""
        return self.block == other.block or self.excludes(other)

    def is_before(self, other: "_Place") -> bool:
        """Return whether an assignment has been made where another occurrence is."""
        return self.one.start < other.one.start and not (self.value is not None and _holds(self.value, other))


def _is_copied(source: Source, place: _Place, others: Sequence[_Place]) -> bool:
    """Return whether another declaration of the name stands in the same block without belonging to this one."""
    if not place.declared:
        return False
    alike = [
        other
        for other in others
        if other.declared and other.block == place.block and not place.excludes(other)
    ]
    if not alike:
        return False
    whole = [each for each in (place, *alike) if not _is_part(source, each)]
    bodies = [each for each in whole if each.has_body or (each.one.kind == "variable" and each.has_value)]
    if len(bodies) > 1 and place in bodies:
        form = _form(source, place)
        return any(_form(source, each) == form for each in bodies if each is not place)
    if len(bodies) == 1 or (not bodies and len(whole) < len(alike) + 1):
        texts = [_signature(source, each) for each in alike if each not in bodies]
        return place not in bodies and _signature(source, place) in texts
    return True


def _header(source: Source, place: _Place) -> str:
    """Return the text in front of a declared name, with the decorators and attributes above it."""
    statement = place.statement
    start = statement
    while start.prev_named_sibling is not None and start.prev_named_sibling.type in source.syntax.markers:
        start = start.prev_named_sibling
    return source.text[source.to_char(start.start_byte) : place.one.start]


def _is_part(source: Source, place: _Place) -> bool:
    """Return whether a declaration says that it is one of several of its name."""
    pattern = source.syntax.variants
    found = None if pattern is None else pattern.search(_header(source, place))
    return found is not None and found.lastgroup == "part"


def _form(source: Source, place: _Place) -> str:
    """Return what tells a declaration from others of its name: a setter, a condition of the build."""
    pattern = source.syntax.variants
    found = None if pattern is None else pattern.search(_header(source, place))
    return "" if found is None else found.group()


def _signature(source: Source, place: _Place) -> str:
    """Return a declaration's text behind its name."""
    return source.text[place.one.end : source.to_char(place.statement.end_byte)].strip()


class _Flow:
    """Which assignments reach which uses, as far as blocks, branches and loops tell."""

    def __init__(self, source: Source, places: Sequence[_Place], defining: set[int]) -> None:
        self.source, self.places = source, places
        self.definitions = [place for place in places if place.one.start in defining]
        self.uses = [place for place in places if place.one.start not in defining or self._updates(place)]
        self.reaching = {use.one.start: self._reaching(use) for use in self.uses}

    def webs_of(self, edited: Sequence[_Place]) -> list[_Place]:
        """Return everything that shares a definition or a use with the edited places, directly or through others."""
        web = {place.one.start for place in edited}
        links = [{start, *(place.one.start for place in reached)} for start, reached in self.reaching.items()]
        links += [{one.one.start, before.one.start} for one in self.definitions for before in self._declared_for(one)]
        while grown := [link for link in links if link & web and not link <= web]:
            web.update(*grown)
        return [place for place in self.places if place.one.start in web]

    def is_dead_before(self, place: _Place) -> bool:
        """Return whether an assignment or the one above it in its block is never read: one is a copy of the other."""
        at = self.definitions.index(place)
        pairs = [(self.definitions[at - 1], place)] if at else []
        pairs += [(place, self.definitions[at + 1])] if at + 1 < len(self.definitions) else []
        read = {reached.one.start for found in self.reaching.values() for reached in found}
        return any(
            one.block == other.block
            and not one.declared
            and not other.declared
            and one.one.start not in read
            and one not in self._declared_for(other)
            for one, other in pairs
        )

    def _declared_for(self, place: _Place) -> list[_Place]:
        """Return the declaration without a value that stands before an assignment in its block."""
        at = self.definitions.index(place)
        before = self.definitions[at - 1] if at else None
        if before is None or before.block != place.block or before.has_value or not place.has_value:
            return []
        return [before]

    def _updates(self, place: _Place) -> bool:
        return _UPDATES.match(self.source.text, place.one.end) is not None

    def _reaching(self, use: _Place) -> list[_Place]:
        found: list[_Place] = []
        cover: _Place | None = None
        for place in reversed(self.definitions):
            if place is use or not place.is_before(use):
                continue
            if not place.excludes(use) and not self._leaves(place, use) and not self._is_replaced(place, use):
                found.append(place)
                if _holds(place.block, use) and not self._updates(place):
                    cover = place
                    break
        later = [place for place in self.definitions if place is not use and place not in found]
        for place in later:
            if any(_holds(loop, place) and (cover is None or not _holds(loop, cover)) for loop in use.loops):
                found.append(place)
            elif place.function != use.function and place.one.start > use.one.start:
                found.append(place)
        return found

    def _is_replaced(self, place: _Place, use: _Place) -> bool:
        """Return whether a definition behind another one replaces its value before another function reads it."""
        return place.function != use.function and any(
            later.block == place.block
            and later.one.start > place.one.start
            and not self._updates(later)
            and (use.one.start > later.one.start or later.one.role is Role.MEMBER)
            for later in self.definitions
        )

    def _leaves(self, place: _Place, use: _Place) -> bool:
        """Return whether the function ends with the block that an assignment stands in."""
        block = place.block
        if place.function != use.function or _holds(block, use) or not block.named_child_count:
            return False
        last = block.named_children[-1]
        while last.type not in self.source.nodes.bodies and last.named_child_count == 1:
            last = last.named_children[0]
        return _ENDS.match(self.source.text_of(last)) is not None or (
            last.parent is not None and _ENDS.match(self.source.text_of(last.parent)) is not None
        )


def _holds(node: Node, place: _Place) -> bool:
    return node.start_byte <= place.one.node.start_byte and place.one.node.end_byte <= node.end_byte
