"""The occurrences of a name with their owners: a scope, or a class for members."""

import re
from copy import copy
from dataclasses import replace
from functools import cached_property

from tree_sitter import Node

from infill_engine.edits.parsed_text import ParsedText, with_decorators
from infill_engine.edits.resolution.captures import sight
from infill_engine.edits.resolution.lookup import MEMBERS, Lookup
from infill_engine.edits.resolution.object_types import Types, root_of, types_of
from infill_engine.edits.resolution.occurrence import FOREIGN, Occurrence, Owner, Role, Scope
from infill_engine.edits.resolution.shapes import types_at

MOST_TYPED = 8  # names whose types determine the class of a member


class Names:
    """The occurrences of one name, each with its owner. `scopes` has the scopes around them, by id.

    `opaque` says that the text cannot tell, at some place, what the name means.
    """

    def __init__(self, source: ParsedText, name: str, *, typed: int = MOST_TYPED) -> None:
        self.source, self.name, sighting = source, name, sight(source, name)
        self.scopes, self.opaque = sighting.scopes, sighting.opaque
        self._typed = typed
        self._lookup = Lookup(source, sighting.found, self.scopes)
        self.all = self._resolved()

    @classmethod
    def of(cls, source: ParsedText, name: str) -> "Names":
        """Resolve a name in a text."""
        return source.once(("names", name), lambda: cls(source, name))

    @cached_property
    def _by_start(self) -> dict[int, Occurrence]:
        return {one.start: one for one in self.all}

    @cached_property
    def _by_owner(self) -> dict[Owner | None, list[Occurrence]]:
        found: dict[Owner | None, list[Occurrence]] = {}
        for one in self.all:
            found.setdefault(one.owner, []).append(one)
        return found

    def class_of(self, node: Node) -> int:
        """Return the id of the class whose body or part a node is; 0 if it is none with a place of the name in it."""
        return self._lookup.canonical.get(-node.id, 0)

    def class_around(self, one: Occurrence) -> Scope | None:
        """Return the innermost class around an occurrence."""
        return next((self.scopes[scope] for scope in one.scopes if self.scopes[scope].is_class), None)

    def at(self, start: int) -> Occurrence | None:
        """Return the occurrence that begins at a place."""
        return self._by_start.get(start)

    def owned(self, owner: Owner | None, *roles: Role) -> list[Occurrence]:
        """Return all occurrences that belong to one owner."""
        found = () if owner is None else self._by_owner.get(owner, ())
        return [one for one in found if not roles or one.role in roles]

    def shared(self, owner: Owner) -> list[Occurrence]:
        """Return the variables that name a member of the owner at the same time."""
        return [one for one in self.all if one.also == owner]

    def may_be_of(self, one: Occurrence, owner: Owner) -> bool:
        """Return whether a member of an object may belong to `owner`.

        It may if the object's type is unknown and the object is reached from one of the owner's class.
        """
        if one.holder is None or types_of(self.source, one.holder, self._same):
            return False
        root = root_of(self.source, one.holder)
        scope = self.scopes[owner.scope]
        if self.source.text_of(root) in self.source.syntax.self_names:
            return any(self.scopes[around].names == scope.names for around in one.scopes)
        return root != one.holder and any(name in scope.names for name in types_of(self.source, root, self._same))

    def _resolved(self) -> tuple[Occurrence, ...]:
        lookup = self._lookup
        resolved = []
        for one in lookup.placed:
            if one.role is Role.MEMBER:
                one = replace(one, owner=self._member_owner(one))
                if one.unsure:  # if it is not a known member, it may be a variable
                    found_as = Role.REFERENCE if one.owner is None else Role.MEMBER
                    owner = one.owner or lookup.seen_from(one)
                    one = replace(one, role=found_as, owner=owner, unsure=one.owner is None)
            elif one.owner is None and one.role in (Role.REFERENCE, Role.DEFINITION) and one.kind not in MEMBERS:
                one = replace(one, owner=lookup.seen_from(one))
            elif one.owner is not None and self.scopes[one.owner.scope].is_class:
                one = replace(one, owner=lookup.member(self.scopes[one.owner.scope], one.owner.space))
            if one.kind == "accessor" and one.owner is not None:
                one = replace(one, also=replace(one.owner, space="call"))
            elif one.role in (Role.REFERENCE, Role.DEFINITION) and (one.named or one.shaped):
                one = replace(one, also=self._field_owner(replace(one, space="")))
            elif one.role is Role.KEYWORD:
                one = replace(one, owner=self._field_owner(one))
            resolved.append(one)
        return tuple(resolved)

    def _member_owner(self, one: Occurrence) -> Owner | None:
        """Return the class whose member is used; None if the object's class is unknown."""
        lookup = self._lookup
        around = [self.scopes[scope] for scope in one.scopes if self.scopes[scope].is_class]
        if one.kind == "own":
            return lookup.member(around[0], "") if around else None
        if one.named:
            return lookup.member(self._class_named(one.named, around), one.space)
        if one.holder is None:
            return None
        text = self.source.text_of(one.holder).replace(" ", "")
        if text in self.source.syntax.self_names | self.source.syntax.base_names:
            return lookup.member(around[0], one.space) if around else None
        known = lookup.class_named(text, around)
        if known is None and self._typed:
            known = self._first_class(types_of(self.source, one.holder, self._same), around)
        return lookup.member(known, one.space)

    def _field_owner(self, one: Occurrence) -> Owner | None:
        """Return the class whose field an argument, a key of a literal or a part of a pattern names."""
        if one.named or one.holder is not None:
            owner = self._member_owner(one)
            if owner is None and one.holder is not None:
                owner = self._member_owner(replace(one, named=""))
            return owner if one.role is not Role.KEYWORD or self._is_record(owner) else None
        if not one.shaped or not self._typed or not any(self.scopes[number].is_class for number in self.scopes):
            return None
        return self._lookup.member(self._first_class(types_at(self.source, one.node, self._same), []), "")

    def _first_class(self, types: Types, around: list[Scope]) -> Scope | None:
        """Return the outermost of some types that is a class here."""
        classes = (self._class_named(name, around) for name in types)
        return next((found for found in classes if found is not None), None)

    def _class_named(self, name: str, around: list[Scope]) -> Scope | None:
        """Return a class of these scopes by its name, or by that of a class elsewhere that inherits from it."""
        found = self._lookup.class_named(name, around)
        if found is not None or not self._typed:
            return found
        for one in self._untyped(name).all:
            node = one.node.parent if one.role is Role.DEFINITION and one.kind in ("class", "tag") else None
            if node is not None:  # a class before its body, or all of a type
                head = self.source.text[one.end : self.source.head_end(node)]
                bases = (self._lookup.class_named(word, []) for word in re.findall(r"\w+", head))
                return next((base for base in bases if base is not None), None)
        return None

    def _is_record(self, owner: Owner | None) -> bool:
        """Return whether the constructor of a class takes its fields by name."""
        pattern = self.source.syntax.records
        if owner is None or pattern is None:
            return False
        node = self.scopes[owner.scope].node
        head = self.source.start_of(with_decorators(node)), self.source.head_end(node)
        return pattern.search(self.source.text, *head) is not None

    def _same(self, name: str, start: int) -> list[Occurrence]:
        """Return the occurrences that mean the same as another name at a place."""
        names = self._untyped(name)
        here = names.at(start)
        if here is None:
            return []
        owner = here.owner
        if owner is None and here.role is Role.MEMBER and self._typed > 1:
            deeper = copy(names)
            deeper._typed = self._typed - 1
            owner = deeper._member_owner(here)
        return names.owned(owner)

    def _untyped(self, name: str) -> "Names":
        """Resolve another name without the types of objects."""
        return self.source.once(("untyped names", name), lambda: Names(self.source, name, typed=0))


def declares_class(source: ParsedText, scope: Scope) -> bool:
    """Return whether a text has a class of its own with the name of another one."""
    found = (one for name in scope.names for one in Names.of(source, name).all)
    return any(one.role is Role.DEFINITION and one.kind not in FOREIGN for one in found)
