"""Find which assignments of a name reach which uses, as far as blocks, branches and loops tell."""

import re
from collections.abc import Sequence
from functools import cached_property

from tree_sitter import Node

from infill_engine.edits.parsed_text import ParsedText, ancestors, enclosing, holds
from infill_engine.edits.resolution.occurrence import Occurrence, Role

_ASSIGNED = ("hoisted", "assigned", "free", "")  # kinds of variables that may be defined again in every language
_ENDS = re.compile(r"(?:return|raise|throw|exit|die|panic)\b")
_UPDATES = re.compile(r"\s*[-+*/%&|^<>?.]+=(?!=)")


class Point:
    """An occurrence with the nodes around it that decide when it runs."""

    def __init__(self, source: ParsedText, one: Occurrence) -> None:
        self.source, self.one = source, one
        self.around = [one.node, *ancestors(one.node)]
        syntax = source.syntax
        again = one.kind in _ASSIGNED or (one.kind == "variable" and syntax.redefines)
        self.declared = one.role is Role.DEFINITION and not again
        branches = syntax.clauses | syntax.branchings | syntax.loops
        self._blocks = source.nodes.bodies | syntax.functions | syntax.parameter_lists | branches

    @cached_property
    def block(self) -> Node:
        """The node that runs to its end after the occurrence."""
        own = self.owner
        return next((node for node in self.around[1:] if node != own and node.type in self._blocks), self.around[-1])

    @cached_property
    def owner(self) -> Node | None:
        """The function that the occurrence names."""
        function = enclosing(self.one.node, self.source.syntax.functions)
        body = None if function is None else function.child_by_field_name("body")
        inside = body is not None and body.start_byte <= self.one.node.start_byte
        listed = any(above.type in self.source.syntax.parameter_lists for above in self.around)
        return None if inside or listed else function

    @cached_property
    def function(self) -> int:
        """The id of the function that the occurrence runs in."""
        functions = self.source.syntax.functions
        around = (node.id for node in self.around[1:] if node != self.owner and node.type in functions)
        return next(around, self.around[-1].id)

    @cached_property
    def statement(self) -> Node:
        """The node of the block that contains the occurrence."""
        return self.around[max(self.around.index(self.block) - 1, 0)]

    @cached_property
    def loops(self) -> list[Node]:
        """The loops around the occurrence, innermost first."""
        return [node for node in self.around if node.type in self.source.syntax.loops]

    @cached_property
    def value(self) -> Node | None:
        """The value of a definition. Uses in it mean the definition before."""
        for node in self.around[1:]:
            found = node.child_by_field_name("right") or node.child_by_field_name("value")
            if found is not None or node == self.statement:
                return found or (node if node.type in self.source.syntax.assignments else None)
        return None

    @cached_property
    def has_body(self) -> bool:
        """Whether the occurrence names a function with a body."""
        return self.owner is not None and self.owner.child_by_field_name("body") is not None

    @cached_property
    def has_value(self) -> bool:
        """Whether the definition has a value."""
        return "=" in self.source.text[self.one.end : self.source.to_char(self.statement.end_byte)]

    def excludes(self, other: "Point") -> bool:
        """Return whether both are in branches of which at most one runs."""
        mine = {node.id: at for at, node in enumerate(self.around)}
        at = next((at for at, node in enumerate(other.around) if node.id in mine), 0)
        own = mine.get(other.around[at].id, 0)
        if not at or not own:
            return False
        joint, pair = other.around[at], (self.around[own - 1], other.around[at - 1])
        either = any(node.type in self.source.syntax.clauses for node in pair)
        return either or joint.child_by_field_name("alternative") in pair

    def belongs_to(self, other: "Point") -> bool:
        """Return whether both are declared in one block, or in branches of one."""
        return self.block == other.block or self.excludes(other)

    def is_before(self, other: "Point") -> bool:
        """Return whether an assignment has been made before another occurrence."""
        return self.one.start < other.one.start and not (self.value is not None and holds(self.value, other.one.node))


class Flow:
    """Which assignments reach which uses, as far as blocks, branches and loops tell."""

    def __init__(self, source: ParsedText, points: Sequence[Point], defining: set[int]) -> None:
        self.source, self.points = source, points
        self.definitions = [point for point in points if point.one.start in defining]
        self.uses = [point for point in points if point.one.start not in defining or self._updates(point)]
        self.reaching = {use.one.start: self._reaching(use) for use in self.uses}

    def webs_of(self, edited: Sequence[Point]) -> list[Point]:
        """Return everything that shares a definition or a use with the edited points, directly or indirectly."""
        web = {point.one.start for point in edited}
        links = [{start, *(point.one.start for point in reached)} for start, reached in self.reaching.items()]
        links += [{one.one.start, before.one.start} for one in self.definitions for before in self._declared_for(one)]
        while grown := [link for link in links if link & web and not link <= web]:
            web.update(*grown)
        return [point for point in self.points if point.one.start in web]

    def is_dead_before(self, point: Point) -> bool:
        """Return whether an assignment or the one above it in the block is never read, so that one is a copy of the
        other."""
        at = self.definitions.index(point)
        pairs = [(self.definitions[at - 1], point)] if at else []
        pairs += [(point, self.definitions[at + 1])] if at + 1 < len(self.definitions) else []
        read = {reached.one.start for found in self.reaching.values() for reached in found}
        return any(
            one.block == other.block
            and not one.declared
            and not other.declared
            and one.one.start not in read
            and one not in self._declared_for(other)
            for one, other in pairs
        )

    def _declared_for(self, point: Point) -> list[Point]:
        """Return the declaration without a value that precedes an assignment in its block."""
        at = self.definitions.index(point)
        before = self.definitions[at - 1] if at else None
        if before is None or before.block != point.block or before.has_value or not point.has_value:
            return []
        return [before]

    def _updates(self, point: Point) -> bool:
        return _UPDATES.match(self.source.text, point.one.end) is not None

    def _reaching(self, use: Point) -> list[Point]:
        found: list[Point] = []
        cover: Point | None = None
        for point in reversed(self.definitions):
            if point is use or not point.is_before(use):
                continue
            if not point.excludes(use) and not self._leaves(point, use) and not self._is_replaced(point, use):
                found.append(point)
                if holds(point.block, use.one.node) and not self._updates(point):
                    cover = point
                    break
        # loops that lead from a definition to a use that precedes it
        loops = [loop for loop in use.loops if cover is None or not holds(loop, cover.one.node)]
        later = [point for point in self.definitions if point is not use and point not in found]
        return found + [
            point
            for point in later
            if any(holds(loop, point.one.node) for loop in loops)
            or (point.function != use.function and point.one.start > use.one.start)  # it may run before
        ]

    def _is_replaced(self, point: Point, use: Point) -> bool:
        """Return whether a later definition in the block replaces this one before the block ends."""
        if holds(point.block, use.one.node) and point.function == use.function:
            return False
        elsewhere = point.function != use.function and point.one.role is not Role.MEMBER
        return any(
            later.block == point.block
            and later.one.start > point.one.start
            and not self._updates(later)
            and not (elsewhere and use.one.start < later.one.start)
            for later in self.definitions
        )

    def _leaves(self, point: Point, use: Point) -> bool:
        """Return whether the function ends with the block that contains an assignment."""
        block = point.block
        if point.function != use.function or holds(block, use.one.node) or not block.named_child_count:
            return False
        last = block.named_children[-1]
        while last.type not in self.source.nodes.bodies and last.named_child_count == 1:
            last = last.named_children[0]
        return any(node is not None and _ENDS.match(self.source.text_of(node)) for node in (last, last.parent))
