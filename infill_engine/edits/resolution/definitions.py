"""Decide which definitions of a name in one scope mean the same thing.

a second function, class, field, parameter     a copy; nobody knows which one the uses mean
overloads, accessors, branches                 one thing
a variable that is assigned again              one thing with the assignments that reach one of its uses
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from infill_engine.edits.parsed_text import ParsedText
from infill_engine.edits.resolution.flow import Flow, Point
from infill_engine.edits.resolution.occurrence import Occurrence

MOST_COMPARED = 150  # occurrences of a name that is defined several times
TOGETHER = 0.8  # factor on the confidence if the flow of control decides
ELSEWHERE = 0.65  # factor if another function defines the name


@dataclass(frozen=True, slots=True)
class Meant:
    """The occurrences that mean the thing the user has changed, and a factor for how certain that is."""

    occurrences: tuple[Occurrence, ...]
    certain: float = 1.0


def meant_by(
    source: ParsedText, group: Sequence[Occurrence], edited: Sequence[Occurrence], defining: Sequence[Occurrence]
) -> Meant | None:
    """Return what the edited occurrences mean of a group; None if an unchanged definition may mean another thing.

    `defining` are the definitions of the group.
    """
    first = min(edited, key=lambda one: one.start)
    others = [one for one in defining if one not in edited]
    if not others:
        return Meant(tuple(group))
    accessors = sum(one.kind == "accessor" for one in defining)
    if accessors:
        return Meant(tuple(group)) if accessors == 1 else None
    if len(group) > MOST_COMPARED:
        return Meant(tuple(group)) if first.start < min(one.start for one in others) else None
    points = {one.start: Point(source, one) for one in group}
    for one in edited:
        if one in defining and _is_copied(source, points[one.start], [points[other.start] for other in others]):
            return None
    flow = Flow(source, [points[one.start] for one in group], {one.start for one in defining})
    if any(flow.is_dead_before(points[one.start]) for one in edited if one in defining):
        return None
    if first.start <= min(one.start for one in others):
        return Meant(tuple(group))
    if all(point.declared for point in flow.definitions):
        joint = any(points[one.start].belongs_to(points[first.start]) for one in others)
        return Meant(tuple(group), TOGETHER if joint else ELSEWHERE)
    found = flow.webs_of([points[one.start] for one in edited])
    if len(found) < len(group):
        return Meant(tuple(point.one for point in found), TOGETHER)
    nearby = all(points[one.start].function == points[first.start].function for one in others)
    return Meant(tuple(group), TOGETHER if nearby else ELSEWHERE)


def _is_copied(source: ParsedText, point: Point, others: Sequence[Point]) -> bool:
    """Return whether the same block has another declaration of the name that does not belong to this one."""
    if not point.declared:
        return False
    same = [other for other in others if other.declared and other.block == point.block and not point.excludes(other)]
    if not same:
        return False
    marks = {each: _mark(source, each) for each in (point, *same)}
    whole = [each for each, mark in marks.items() if mark is None or mark.lastgroup != "part"]
    bodies = [each for each in whole if each.has_body or (each.one.kind == "variable" and each.has_value)]
    if len(bodies) > 1 and point in bodies:
        forms = {each: "" if mark is None else mark.group() for each, mark in marks.items()}
        return any(forms[each] == forms[point] for each in bodies if each is not point)
    if len(bodies) == 1 or (not bodies and len(whole) < len(same) + 1):
        texts = [_signature(source, each) for each in same if each not in bodies]
        return point not in bodies and _signature(source, point) in texts
    return True


def _mark(source: ParsedText, point: Point) -> re.Match[str] | None:
    """Return what distinguishes a declaration from others of its name: a setter, a build condition."""
    start = point.statement
    while start.prev_named_sibling is not None and start.prev_named_sibling.type in source.syntax.markers:
        start = start.prev_named_sibling
    pattern = source.syntax.variants
    return None if pattern is None else pattern.search(source.text[source.start_of(start) : point.one.start])


def _signature(source: ParsedText, point: Point) -> str:
    """Return a declaration's text after its name."""
    return source.text[point.one.end : source.to_char(point.statement.end_byte)].strip()
