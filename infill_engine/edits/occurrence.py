"""The values of name resolution: occurrences of a name, the scopes around them, and what each one means."""

from dataclasses import dataclass, field
from enum import Enum, auto

from tree_sitter import Node

from infill_engine.text.languages.record import Syntax

MOST_NESTED = 4  # lists around what one assignment sets


class Role(Enum):
    """What an occurrence of a name is."""

    DEFINITION = auto()
    REFERENCE = auto()
    MEMBER = auto()  # of an object
    KEYWORD = auto()  # names an argument of a call
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Owner:
    """What occurrences of a name have in common that mean the same thing.

    `scope` is the id of the scope that defines it. `since` is the place from which a name is seen that hides an earlier
    one of the same scope, else 0. `space` parts names that do not hide each other: "" for variables, "type", "call".
    """

    scope: int
    since: int = 0
    space: str = ""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A name at a place. `scopes` are the ids of the scopes it is looked up in, innermost first.

    `since` is where a definition begins to be seen, 0 for everywhere in its scope. `holder` is the object of a member,
    `named` the name of the class of a member. `owner` is None for what is not found in this text.
    `also` is the class of which a variable names a member at the same time.
    """

    start: int
    end: int
    role: Role
    kind: str
    node: Node = field(compare=False)
    scopes: tuple[int, ...]
    space: str = ""
    since: int = 0
    anew: bool = False
    unsure: bool = False
    holder: Node | None = field(default=None, compare=False)
    named: str = ""
    type: str = ""
    value: str = ""
    owner: Owner | None = None
    also: Owner | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """A scope of the text. Classes have negative ids, because one node may be a function and a class."""

    id: int
    kind: str  # "", "function", "closed", "class" or "open"
    node: Node = field(compare=False)
    names: tuple[str, ...] = ()  # of a class
    bases: tuple[str, ...] = ()

    @property
    def is_class(self) -> bool:
        """Whether the scope has members."""
        return self.kind in ("class", "open")


@dataclass(frozen=True, slots=True)
class Sighting:
    """All occurrences of one name, not yet resolved, and the scopes around them by id."""

    found: tuple[Occurrence, ...]
    scopes: dict[int, Scope]
    opaque: bool


def defines(one: Occurrence, syntax: Syntax) -> bool:
    """Return whether a name is defined at a place: as a variable, or as a member that is set."""
    return one.role is Role.DEFINITION or (one.role is Role.MEMBER and _is_assigned(one.node, syntax))


def _is_assigned(node: Node, syntax: Syntax) -> bool:
    """Return whether a member is what an assignment sets."""
    holder = node.parent
    for _ in range(MOST_NESTED):
        setting = None if holder is None else holder.parent
        if holder is None or setting is None:
            return False
        if node.parent is not None and node.parent.type in syntax.assignments:  # the member itself is what is set
            return node.parent.child_by_field_name("left") == node
        if setting.type in syntax.assignments:
            return setting.named_children[0] == holder
        if not setting.type.endswith(("_list", "_pattern")):
            return False
        holder = setting
    return False
