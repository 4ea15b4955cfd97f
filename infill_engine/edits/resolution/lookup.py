"""Which scope defines a name where it is used, and which class a member belongs to."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from infill_engine.edits.parsed_text import ParsedText, ancestors
from infill_engine.edits.resolution.occurrence import Occurrence, Owner, Role, Scope

# namespaces in which a use is looked up; other uses have their own
SPACES = {"": ("", "type"), "any": ("", "type", "call")}
MEMBERS = ("member", "method", "accessor")
UNDECLARED = ("assigned", "free")


class Lookup:
    """The definitions of a name, by scope and space. `placed` are the occurrences with the owners of definitions."""

    def __init__(self, source: ParsedText, found: Iterable[Occurrence], scopes: dict[int, Scope]) -> None:
        self.scopes, self.root = scopes, source.root.id
        self.canonical = _same_classes(scopes)
        found = list(found)
        own_names = self.self_names = source.syntax.self_names
        self.declared = {one.scopes[0]: one.kind for one in found if one.kind in ("global", "nonlocal") and one.scopes}
        self.plain: dict[tuple[int, str], set[str]] = defaultdict(set)  # kinds
        self.later: dict[tuple[int, str], list[Occurrence]] = defaultdict(list)  # seen from a place on
        if "global" in self.declared.values():
            self.plain[self.root, ""].add("variable")
        for one in found:
            own = one.kind == "own" or (one.holder is not None and source.text_of(one.holder) in own_names)
            if one.role is Role.MEMBER and own:
                around = next((scope for scope in one.scopes if scopes[scope].is_class), None)
                if around is not None:
                    self.plain[self.canonical[around], "call" if one.space == "call" else ""].add("member")
        placed = [self._placed(one) for one in found]
        self.placed = [
            self._assigned(one) if one.role is Role.DEFINITION and one.kind in UNDECLARED else one for one in placed
        ]

    def class_named(self, name: str, around: list[Scope]) -> Scope | None:
        """Return the class with a name: one around the place, otherwise the only class of that name."""
        if not name:
            return None
        if name in self.self_names:
            return around[0] if around else None
        found = next((scope for scope in around if name in scope.names), None)
        if found is not None:
            return found
        same = {self.canonical[scope.id] for scope in self.scopes.values() if scope.is_class and name in scope.names}
        return self.scopes[same.pop()] if len(same) == 1 else None

    def member(self, scope: Scope | None, space: str) -> Owner | None:
        """Return the class that has the member: this one, or a base of it that defines the name."""
        if space == "any":
            called = self.member(scope, "call")
            return called if called is not None and self.plain.get((called.scope, "call")) else self.member(scope, "")
        for _ in range(len(self.scopes) if scope is not None else 0):
            assert scope is not None
            own = self.canonical[scope.id]
            base = self._base(own, space)
            if base is None:
                return Owner(own, 0, space)
            scope = base
        return None

    def seen_from(self, one: Occurrence) -> Owner | None:
        """Return the nearest scope around a use that defines the name in one of the use's namespaces."""
        found = (self._seen_in(one, space) for space in SPACES.get(one.space, (one.space,)))
        return next((owner for owner in found if owner is not None), None)

    def _seen_in(self, one: Occurrence, space: str) -> Owner | None:
        for depth, number in enumerate(one.scopes):
            scope = self.scopes[number]
            if self.declared.get(number) == "global":
                return Owner(self.root)
            if scope.is_class:
                kinds = self.plain.get((self.canonical[number], space), set())
                if scope.kind == "open":
                    if kinds or self._base(self.canonical[number], space) is not None:
                        return self.member(scope, space)
                elif kinds.difference(MEMBERS) and depth == 0:
                    return Owner(self.canonical[number], 0, space)
                continue
            earlier = [each for each in self.later.get((number, space), ()) if each.since <= one.start]
            if earlier:
                last = max(earlier, key=lambda each: each.since)
                return Owner(number, last.since if last.anew else 0, space)
            if self.plain.get((number, space)):
                return Owner(number, 0, space)
            if scope.kind == "closed" and space == "" and number not in self.declared:
                return None
        return None

    def _placed(self, one: Occurrence) -> Occurrence:
        if one.role is not Role.DEFINITION or one.kind in ("global", "nonlocal", *UNDECLARED):
            return one
        number = self._defined_in(one)
        if number is None:
            return one
        if one.since:
            self.later[number, one.space].append(one)
            return replace(one, owner=Owner(number, one.since if one.anew else 0, one.space))
        self.plain[number, one.space].add(one.kind)
        if one.kind == "accessor":
            self.plain[number, "call"].add("method")
        return replace(one, owner=Owner(number, 0, one.space))

    def _assigned(self, one: Occurrence) -> Occurrence:
        """Return a definition if the name is not visible yet, otherwise a use."""
        known = self.seen_from(one)
        if known is not None:
            return replace(one, owner=known)
        number = next((scope for scope in one.scopes if not self.scopes[scope].is_class), self.root)
        if one.kind == "free" or number == self.root:
            self.plain[self.root, one.space].add(one.kind)
            return replace(one, owner=Owner(self.root, 0, one.space))
        self.later[number, one.space].append(replace(one, since=one.start))
        return replace(one, owner=Owner(number, 0, one.space))

    def _defined_in(self, one: Occurrence) -> int | None:
        """Return the scope to which a definition adds its name; None if the scope declares that the name is not its
        own."""
        chain = one.scopes
        if one.kind not in MEMBERS:
            chain = tuple(scope for scope in chain if self.scopes[scope].kind != "shape")
        if one.kind == "hoisted":
            chain = tuple(scope for scope in chain if self.scopes[scope].kind in ("function", "closed"))
        elif one.kind in MEMBERS:
            chain = tuple(self.canonical[scope] for scope in chain if self.scopes[scope].is_class)
        if not chain or chain[0] in self.declared:
            return None
        return self.canonical.get(chain[0], chain[0])

    def _base(self, own: int, space: str) -> Scope | None:
        """Return the base of a class, if the text has it and it defines the name."""
        parts = (scope for scope in self.scopes.values() if scope.is_class and self.canonical[scope.id] == own)
        for base in (self.class_named(name, []) for scope in parts for name in scope.bases):
            other = own if base is None else self.canonical[base.id]
            if other != own and self.plain.get((other, space)):
                return base
        return None


def _same_classes(scopes: dict[int, Scope]) -> dict[int, int]:
    """Return the id of each class. Parts of one class, such as `impl` blocks, share an id."""
    first: dict[tuple[str, int], int] = {}
    same = {}
    for scope in sorted(scopes.values(), key=lambda scope: scope.node.start_byte):
        if scope.is_class:
            around = _around(scope, scopes)
            keys = [(name, around) for name in scope.names]
            same[scope.id] = next((first[key] for key in keys if key in first), scope.id)
            first.update((key, same[scope.id]) for key in keys)
    return same


def _around(scope: Scope, scopes: dict[int, Scope]) -> int:
    """Return the id of the scope around a class."""
    found = (number for node in ancestors(scope.node) for number in (-node.id, node.id) if number in scopes)
    return next(found, 0)
