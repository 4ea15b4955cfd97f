"""What a name refers to: its occurrences in a text, resolved through the scopes of the language's query `locals.scm`.

    @local.scope[.function|.class]   where names are defined; statements see a class's names, functions in it do not
    @local.outer                     inside the extent of a scope, but resolved outside of it
    @local.definition.<kind>         `hoisted` ones belong to the function around; `member` ones are no variables
    @local.reference  @local.quoted  a use, also inside of a string
    @local.annotation  @local.text   strings inside of annotations are read as uses
    @local.global  @local.nonlocal   says that the name belongs to an outer scope
    @local.assigned                  a pattern that defines nothing
    @local.member  @local.keyword    looked up in an object; the name of an argument
    @local.other                     never a variable

The query runs once for each occurrence and only there, so the cost depends on how often the name occurs.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from tree_sitter import Node, Query, QueryCursor

from infill_engine.edits.source import Source, words
from infill_engine.text.languages.query_files import load_query
from infill_engine.text.languages.registry import language

MOST_OCCURRENCES = 600  # of one name; more is no name but a word
SELF = frozenset(("self", "cls", "this"))


class Role(Enum):
    """What an occurrence of a name is."""

    DEFINITION = auto()
    REFERENCE = auto()
    MEMBER = auto()  # of an object
    KEYWORD = auto()  # names an argument of a call
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A name at a place. `scopes` are the ids of the scopes it is looked up in, innermost first."""

    start: int
    end: int
    role: Role
    kind: str
    node: Node = field(compare=False)
    scopes: tuple[int, ...]
    owner: int = 0  # the id of the scope, or of the class for a member, that it belongs to; 0 if not found here


@dataclass(frozen=True, slots=True)
class Scope:
    """A scope of the text."""

    id: int
    kind: str  # "", "function" or "class"
    node: Node = field(compare=False)


class Names:
    """The occurrences of one name, each with its owner. `scopes` has what was met on the way, by id."""

    def __init__(self, source: Source, name: str, query: Query) -> None:
        self.source, self.name = source, name
        self.scopes: dict[int, Scope] = {}
        found: list[Occurrence] = []
        for count, start in enumerate(words(source.text, name)):
            if count >= MOST_OCCURRENCES:
                found = []
                break
            found.append(self._occurrence(start, start + len(name), query))
        self.all = _resolve(found, self.scopes, source)

    @classmethod
    def of(cls, source: Source, name: str) -> "Names | None":
        """None for a language without a query of its local names."""
        query = load_query(language(source.language).entry, "locals")
        return None if query is None or not name else cls(source, name, query)

    def at(self, start: int) -> Occurrence | None:
        """The occurrence that begins at a place."""
        return next((one for one in self.all if one.start == start), None)

    def owned(self, owner: int, *roles: Role) -> list[Occurrence]:
        """All occurrences that belong to one scope or class."""
        return [one for one in self.all if owner and one.owner == owner and (not roles or one.role in roles)]

    def _occurrence(self, start: int, end: int, query: Query) -> Occurrence:
        source = self.source
        first, last = source.to_byte(start), source.to_byte(end)
        cursor = QueryCursor(query)
        cursor.set_byte_range(first, last)
        captures = cursor.captures(source.root)
        here: dict[str, Node] = {}
        scopes: list[Scope] = []
        outer: list[Node] = []
        for name, nodes in captures.items():
            for node in nodes:
                if node.start_byte > first or node.end_byte < last:
                    continue
                if name.startswith("local.scope"):
                    scopes.append(Scope(node.id, name[len("local.scope.") :], node))
                elif name == "local.outer":
                    outer.append(node)
                else:
                    here[name] = node
        scopes.sort(key=lambda scope: scope.node.end_byte - scope.node.start_byte)
        for node in outer:
            skipped = next((s for s in scopes if s.node.id != node.id and _within(node, s.node)), None)
            if skipped is not None:
                scopes.remove(skipped)
        for scope in scopes:
            self.scopes[scope.id] = scope
        role, kind, node = _role(here, source.node_at(start, end), (first, last))
        return Occurrence(start, end, role, kind, node, tuple(scope.id for scope in scopes))


def _within(node: Node, scope: Node) -> bool:
    return scope.start_byte <= node.start_byte and node.end_byte <= scope.end_byte


def _role(here: dict[str, Node], node: Node, extent: tuple[int, int]) -> tuple[Role, str, Node]:
    """The role that the captures around an occurrence give it, most particular first."""
    for capture, role in (
        ("local.other", Role.OTHER),
        ("local.member", Role.MEMBER),
        ("local.keyword", Role.KEYWORD),
        ("local.global", Role.DEFINITION),
        ("local.nonlocal", Role.DEFINITION),
    ):
        if capture in here:
            return role, capture[len("local.") :], here[capture]
    exact = {name: found for name, found in here.items() if _is_exact(found, extent)}
    definition = next((name for name in exact if name.startswith("local.definition.")), None)
    if definition is not None and "local.assigned" not in here:
        return Role.DEFINITION, definition[len("local.definition.") :], exact[definition]
    if definition is not None or "local.reference" in exact:
        return Role.REFERENCE, "", exact.get("local.reference", node)
    if "local.quoted" in here or ("local.text" in here and "local.annotation" in here):
        return Role.REFERENCE, "quoted", here.get("local.quoted", here.get("local.text", node))
    return Role.OTHER, "", node


def _is_exact(node: Node, extent: tuple[int, int]) -> bool:
    """Whether a node is the word itself; a private name has a `#` before it."""
    first, last = extent
    return node.end_byte == last and node.start_byte in (first, first - node.type.startswith("private"))


def _resolve(found: Sequence[Occurrence], scopes: dict[int, Scope], source: Source) -> tuple[Occurrence, ...]:
    """The occurrences with their owners."""
    declared = {one.scopes[0]: one.kind for one in found if one.kind in ("global", "nonlocal") and one.scopes}
    root = source.root.id
    definitions: dict[int, set[str]] = defaultdict(set)
    if "global" in declared.values():
        definitions[root].add("variable")
    placed = []
    for one in found:
        if one.role is Role.DEFINITION and one.kind not in ("global", "nonlocal"):
            owner = _defined_in(one, scopes, declared)
            if owner:
                definitions[owner].add(one.kind)
                placed.append(replace(one, owner=owner))
                continue
        placed.append(one)
    resolved = []
    for one in placed:
        if one.owner == 0 and one.role in (Role.REFERENCE, Role.DEFINITION):
            one = replace(one, owner=_seen_from(one, scopes, definitions, declared, root))
        elif one.role is Role.MEMBER:
            one = replace(one, owner=_class_of(one, scopes, source))
        resolved.append(one)
    return tuple(_with_bases(resolved, scopes, source))


def _defined_in(one: Occurrence, scopes: dict[int, Scope], declared: dict[int, str]) -> int:
    """The scope that a definition adds its name to; 0 where the scope says that the name is not its own."""
    chain = one.scopes
    if one.kind == "hoisted":
        chain = tuple(scope for scope in chain if scopes[scope].kind == "function")
    elif one.kind == "member":
        chain = tuple(scope for scope in chain if scopes[scope].kind == "class")
    return 0 if not chain or chain[0] in declared else chain[0]


def _seen_from(
    one: Occurrence,
    scopes: dict[int, Scope],
    definitions: dict[int, set[str]],
    declared: dict[int, str],
    root: int,
) -> int:
    """The nearest scope around a use that defines the name."""
    for depth, scope in enumerate(one.scopes):
        if declared.get(scope) == "global":
            return root
        kinds = definitions.get(scope, set())
        hidden = depth > 0 and scopes[scope].kind == "class"
        if kinds - {"member"} and not hidden:
            return scope
    return 0


def _class_of(one: Occurrence, scopes: dict[int, Scope], source: Source) -> int:
    """The class whose member is looked up by `self.name`, `this.name` or `Class.name`; 0 for other objects."""
    parent = one.node.parent
    holder = None if parent is None else parent.child_by_field_name("object")
    if holder is None:
        return 0
    text = source.text_of(holder)
    around = [scopes[scope] for scope in one.scopes if scopes[scope].kind == "class"]
    if text in SELF or text.replace(" ", "") == "super()" or text == "super":
        return around[0].id if around else 0
    return next((scope.id for scope in around if class_name(source, scope.node) == text), 0)


def class_name(source: Source, scope: Node) -> str:
    """The name of the class that a scope belongs to."""
    node: Node | None = scope
    while node is not None:
        name = node.child_by_field_name("name")
        if name is not None:
            return source.text_of(name)
        node = node.parent if node is scope else None
    return ""


def _with_bases(found: Sequence[Occurrence], scopes: dict[int, Scope], source: Source) -> list[Occurrence]:
    """Members of a class belong to its base where both are in sight and the base has a member of that name."""
    owners = {one.owner for one in found if one.owner and scopes[one.owner].kind == "class"}
    named = {class_name(source, scopes[owner].node): owner for owner in owners}
    if len(owners) < 2:
        return list(found)
    base_of = {}
    for owner in owners:
        own = class_name(source, scopes[owner].node)
        parents = [name for name in bases(source, scopes[owner].node) if name in named and name != own]
        base_of[owner] = named[parents[0]] if parents else owner
    return [replace(one, owner=_root_of(one.owner, base_of)) for one in found]


def _root_of(owner: int, base_of: dict[int, int]) -> int:
    for _ in range(len(base_of)):
        base = base_of.get(owner, owner)
        if base == owner:
            break
        owner = base
    return owner


def bases(source: Source, scope: Node) -> list[str]:
    """The names of a class's bases that are plain names."""
    holder = scope.child_by_field_name("superclasses")
    if holder is None and scope.parent is not None:
        holder = next((child for child in scope.parent.named_children if child.type == "class_heritage"), None)
        if holder is not None and holder.named_children and holder.named_children[0].type == "extends_clause":
            holder = holder.named_children[0]
    if holder is None:
        return []
    return [source.text_of(child) for child in holder.named_children if child.type in ("identifier", "type_identifier")]
