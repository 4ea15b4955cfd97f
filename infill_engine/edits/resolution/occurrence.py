"""The values of name resolution: occurrences of a name, the scopes around them, and their owners."""

from dataclasses import dataclass, field
from enum import Enum, auto

from tree_sitter import Node

from infill_engine.text.languages.node_types import Syntax

CLASSES = ("class", "open", "shape")  # kinds of scopes that have members
LOCALS = ("variable", "hoisted", "assigned")  # kinds of definitions: variables of a function
FOREIGN = ("import", "alias", "module")  # kinds of definitions: names of what is defined elsewhere
MOST_NESTED = 4  # lists around the targets of an assignment


class Role(Enum):
    """The role of an occurrence of a name."""

    DEFINITION = auto()
    REFERENCE = auto()
    MEMBER = auto()  # of an object
    KEYWORD = auto()  # names an argument of a call
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Owner:
    """Shared by all occurrences of a name that mean the same thing.

    `scope` is the id of the defining scope. `since` is the place from which the name hides an earlier one of the same
    scope, else 0. `space` is the namespace: "" for variables, "type", "call". Names in different namespaces do not hide
    each other.
    """

    scope: int
    since: int = 0
    space: str = ""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A name at a place. `scopes` are the ids of the scopes it is looked up in, innermost first.

    `since` is the place from which a definition is visible, 0 for its whole scope. `holder` is the object of a member,
    `named` the name of a member's class. `shaped` says that the class is the type that an object must have there.
    `owner` is None if the definition is not in this text. `also` is the class whose member a variable names at the same
    time.
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
    shaped: bool = False
    type: str = ""
    value: str = ""
    owner: Owner | None = None
    also: Owner | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """A scope of the text. Classes have negative ids, because one node may be a function and a class."""

    id: int
    kind: str  # "", "function", "closed", "class", "open" or "shape"
    node: Node = field(compare=False)
    names: tuple[str, ...] = ()  # of a class
    bases: tuple[str, ...] = ()

    @property
    def is_class(self) -> bool:
        """Whether the scope has members."""
        return self.kind in CLASSES


@dataclass(frozen=True, slots=True)
class Sighting:
    """All occurrences of one name, not yet resolved, and the scopes around them by id."""

    found: tuple[Occurrence, ...]
    scopes: dict[int, Scope]
    opaque: bool


def defines(one: Occurrence, syntax: Syntax) -> bool:
    """Return whether a place defines a name: as a variable, or as a member that is assigned."""
    return one.role is Role.DEFINITION or (one.role is Role.MEMBER and _is_assigned(one.node, syntax))


def _is_assigned(node: Node, syntax: Syntax) -> bool:
    """Return whether a member is the target of an assignment."""
    holder = node.parent
    for _ in range(MOST_NESTED):
        setting = None if holder is None else holder.parent
        if holder is None or setting is None:
            return False
        if node.parent is not None and node.parent.type in syntax.assignments:  # the member itself is assigned
            return node.parent.child_by_field_name("left") == node
        if setting.type in syntax.assignments:
            return setting.named_children[0] == holder
        if not setting.type.endswith(("_list", "_pattern")):
            return False
        holder = setting
    return False
