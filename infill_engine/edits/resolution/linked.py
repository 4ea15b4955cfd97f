"""Things that get a new name together, because one place names all of them; and whether the name is free."""

from infill_engine.edits.resolution.names import Names
from infill_engine.edits.resolution.occurrence import Owner, Role


def linked(names: Names, others: Names, owner: Owner) -> set[Owner]:
    """Return the owners that get the new name together, because one place names all of them; none if one cannot.

    A variable that takes a field from an object of a known shape keeps its name if the new one is taken.
    """
    found, waiting = {owner}, [owner]
    while waiting:
        current = waiting.pop()
        for one in names.all:
            own, also = one.owner, one.also
            if one.role is not Role.DEFINITION or own is None or also is None or current not in (own, also):
                continue
            other = own if also == current else also
            if other in found:
                continue
            taken = is_taken(others, names, other)
            if one.kind in ("promoted", "accessor"):
                if taken and other.space != "call":
                    return set()
            elif taken or names.scopes[also.scope].kind != "shape":
                continue
            found.add(other)
            waiting.append(other)
    return found


def is_taken(others: Names, names: Names, owner: Owner) -> bool:
    """Return whether the new name already means something in the scope of the old one."""
    scope = names.scopes[owner.scope]
    if scope.kind in ("class", "shape"):
        return bool(others.owned(owner))
    first, last = names.source.span_of(scope.node)
    inside = (one for one in others.all if first <= one.start < last and one.kind != "member")
    return any(one.role in (Role.DEFINITION, Role.REFERENCE) for one in inside)
