"""The occurrences of a name in a text, as the captures of the language's query `locals.scm` describe them.

Scopes

    @local.scope             where names are defined
    @local.scope.function    likewise; `hoisted` definitions inside of it belong to it
    @local.scope.closed      likewise; variables outside of it are not seen in it
    @local.scope.class       a class; only statements of its body see its names, functions in it do not
    @local.scope.open        a class whose members are seen as plain names by the functions in it
    @local.scope.shape       the type of an object: only objects see its members, and it has no variables
    @local.named             in the same pattern as a class: its name, where it is not in a field `name`
    @local.base              in the same pattern as a class: the name of a class that it inherits from
    @local.outer             inside the extent of a scope, but resolved outside of it

Names

    @local.definition.<kind>   `variable`, `parameter`, `class` and `function` define a name in their scope; an
                               `import` is a name that another file defines, an `alias` a name for it in this file,
                               a `module` the name of a file, a `package` the first part of one, and a `file` is
                               declared under the name of its file; `hoisted` ones belong to the enclosing
                               function, `member` and `method` ones to the class; an `assigned` one defines the
                               name only where it is not seen yet, a `free` one then for the whole text; `method`
                               and `routine` define what is called, `tag` and `<kind>.type` a type; a `promoted`
                               one is a parameter and a member of the class that is @local.named, an `accessor` a
                               member and a method that reads it
    @local.words               a string whose words are the definitions
    @local.from                names that are defined in it are seen from its end on
    @local.anew                likewise, and each definition is a variable of its own
    @local.type, @local.value  in the same pattern as a definition: its declared type, its initial value
    @local.reference           a use: of a variable, or of a type where no variable has the name
    @local.reference.type      a use as a type, `.call` as a function; `.any` is a variable, a type or a function
    @local.quoted              a use inside of a string
    @local.formatted           a string in which `{name}` is a use
    @local.annotation, @local.text   strings inside of annotations are read as uses
    @local.global, @local.nonlocal   says that the name belongs to an outer scope
    @local.assigned            a pattern that defines nothing
    @local.member              looked up in the object that is @local.holder, or in the class that is @local.named;
                               `.call` is called, `.any` may be a function or not
    @local.own                 a member of the enclosing class that is written without the object
    @local.shorthand           a variable that is also the name of a member of the class that is @local.named
    @local.keyword             the name of an argument, or of a field in a literal: a member, if the class that is
                               @local.named or of @local.holder is known
    @local.shaped              a member of the type that an object must have at this place
    @local.other               never a variable
    @local.unsure              may be a use of what it resolves to, or may not
    @local.certain             is what it seems to be, whatever is unsure around it
    @local.opaque              may be a use of anything that has the name

The query runs once for each occurrence and only there, so the cost depends on how often the name occurs.
"""

import re
from dataclasses import dataclass, replace

from tree_sitter import Node, Query, QueryCursor

from infill_engine.edits.changes import word_chars
from infill_engine.edits.parsed_text import ParsedText, holds
from infill_engine.edits.resolution.occurrence import CLASSES, Occurrence, Role, Scope, Sighting, defines
from infill_engine.edits.resolution.shapes import shape_name
from infill_engine.text.languages.queries import load_query
from infill_engine.text.languages.registry import language

_WORD = re.compile(r"[^\W\d]\w*")
_WITH_DOLLAR = re.compile(r"(?:[^\W\d]|\$)[\w$]*")
MOST_OCCURRENCES = 600  # occurrences of one name; with more, it is a common word


def sight(source: ParsedText, name: str) -> Sighting:
    """Return the occurrences of a name; none if there are too many, or if the language has no query for its names."""
    return source.once(("sighting", name), lambda: _sighted(source, name))


def _sighted(source: ParsedText, name: str) -> Sighting:
    query = load_query(language(source.language), "locals")
    if query is None or not name:
        return Sighting((), {}, opaque=True)
    # No pattern of the query matches the root of a text that is broken throughout.
    scopes = {source.root.id: Scope(source.root.id, "", source.root)}
    found: list[Occurrence] = []
    opaque = False
    for count, start in enumerate(source.words(name)):
        if count >= MOST_OCCURRENCES:
            return Sighting((), {}, opaque=True)
        seen = _Captures(source, query, start, start + len(name))
        opaque = opaque or "local.opaque" in seen.here  # the text cannot tell what the name means here
        found.append(seen.occurrence(scopes))
    return Sighting(tuple(found), scopes, opaque)


@dataclass(frozen=True, slots=True)
class Defined:
    """A definition: the kind that the query says, where its name begins, and the name without a sigil."""

    kind: str
    start: int
    name: str


def defined_in(source: ParsedText, start: int, end: int) -> list[Defined]:
    """Return the definitions whose names are in a part of the text, in order, including assigned members."""
    query = load_query(language(source.language), "locals")
    found: list[Defined] = []
    if query is None:
        return found
    words = _WITH_DOLLAR if word_chars(source.language).match("$") else _WORD
    for word in words.finditer(source.text, start, end):
        one = _Captures(source, query, word.start(), word.end()).occurrence({})
        if defines(one, source.syntax):
            found.append(Defined(one.kind, one.start, word.group()))
    return found


def class_name(source: ParsedText, scope: Node) -> str:
    """Return the name of a scope's class, from the field `name` of the scope's node or its parent."""
    return source.name_of(scope) or ("" if scope.parent is None else source.name_of(scope.parent))


class _Captures:
    """The captures of one place."""

    def __init__(self, source: ParsedText, query: Query, start: int, end: int) -> None:
        self.source, self.start, self.end = source, start, end
        self.extent = source.to_byte(start), source.to_byte(end)
        self.scopes: list[Scope] = []
        self.outer: list[Node] = []
        self.here: dict[str, Node] = {}
        self.beside: dict[str, dict[str, list[Node]]] = {}  # what else the pattern captured, by capture
        cursor = QueryCursor(query)
        cursor.set_byte_range(*self.extent)
        for _, captures in cursor.matches(source.root):
            for name, nodes in captures.items():
                for node in nodes:
                    if node.start_byte <= self.extent[0] and self.extent[1] <= node.end_byte:
                        self._add(name, node, captures)

    def occurrence(self, scopes: dict[int, Scope]) -> Occurrence:
        """Return the occurrence, and add the scopes around it to `scopes`."""
        own = self._scopes()
        scopes.update((scope.id, scope) for scope in own)
        role, kind, node, capture = self._role()
        beside = {**self.beside.get("local.shorthand", {}), **self.beside.get(capture, {})}
        visible = self._visible(own) if role is Role.DEFINITION else None
        holder = beside.get("local.holder", [None])[0]
        return Occurrence(
            self.start,
            self.end,
            role,
            kind,
            node,
            tuple(scope.id for scope in own),
            space=_space(capture, kind),
            since=0 if visible is None else self.source.to_char(visible[0].end_byte),
            anew=visible is not None and visible[1],
            unsure="local.unsure" in self.here and "local.certain" not in self.here,
            holder=holder if role in (Role.MEMBER, Role.KEYWORD) else None,
            named=self._text(beside, "local.named"),
            shaped="local.shaped" in self.here and self._is_exact(self.here["local.shaped"]),
            type=self._text(beside, "local.type"),
            value=self._text(beside, "local.value"),
        )

    def _add(self, name: str, node: Node, captures: dict[str, list[Node]]) -> None:
        if not name.startswith("local.scope"):
            if name == "local.outer":
                self.outer.append(node)
            elif name not in self.here or _size(node) < _size(self.here[name]):
                self.here[name], self.beside[name] = node, captures
            elif node == self.here[name]:
                self.beside[name] = {**captures, **self.beside[name]}
            return
        kind = name[len("local.scope.") :]
        if kind not in CLASSES:
            self.scopes.append(Scope(node.id, kind, node))
            return
        bases = tuple(self.source.text_of(base) for base in captures.get("local.base", ()))
        spelled = self._text(captures, "local.named") or class_name(self.source, node)
        if kind == "shape":
            spelled = spelled or shape_name(node)
        self.scopes.append(Scope(-node.id, kind, node, (spelled,) if spelled else (), bases))

    def _text(self, captures: dict[str, list[Node]], name: str) -> str:
        nodes = captures.get(name)
        return self.source.text_of(nodes[0]) if nodes else ""

    def _scopes(self) -> list[Scope]:
        """Return the scopes around the place, innermost first. If a node is both, the function comes before the
        class."""
        found: dict[int, Scope] = {}
        for scope in self.scopes:
            known = found.get(scope.id, scope)
            names, bases = dict.fromkeys((*known.names, *scope.names)), dict.fromkeys((*known.bases, *scope.bases))
            found[scope.id] = replace(scope, names=tuple(names), bases=tuple(bases))
        scopes = sorted(found.values(), key=lambda scope: (_size(scope.node), scope.is_class))
        for node in self.outer:
            skipped = next((s.node.id for s in scopes if s.node.id != node.id and holds(s.node, node)), None)
            scopes = [scope for scope in scopes if scope.node.id != skipped]
        return scopes

    def _visible(self, scopes: list[Scope]) -> tuple[Node, bool] | None:
        """Return the node after which a definition is visible, and whether it is a variable of its own."""
        for name in ("local.from", "local.anew"):
            node = self.here.get(name)
            if node is not None and (not scopes or holds(scopes[0].node, node)):
                return node, name == "local.anew"
        return None

    def _role(self) -> tuple[Role, str, Node, str]:
        """Return the most specific role that the captures give the place, and that capture."""
        here = self.here
        words = here.get("local.words")
        exact = {name: found for name, found in here.items() if found == words or self._is_exact(found)}
        for capture, role in _PLAIN:
            if capture in here and not (role is Role.MEMBER and any(name.startswith(_DEFINITION) for name in exact)):
                return role, capture[len("local.") :], here[capture], capture
        defined = [name for name in exact if name.startswith(_DEFINITION)]
        definition = next((name for name in defined if _kind(name) in _FIRST), next(iter(defined), None))
        if definition is not None and "local.assigned" not in here:
            return Role.DEFINITION, _kind(definition), exact[definition], definition
        for reference in ("local.reference.any", "local.reference.call", "local.reference.type", "local.reference"):
            if definition is not None or reference in exact:
                return Role.REFERENCE, "", exact.get(reference, here.get(definition or "", self._smallest())), reference
        if "local.quoted" in here or ("local.text" in here and "local.annotation" in here):
            return Role.REFERENCE, "quoted", here.get("local.quoted", here.get("local.text", self._smallest())), ""
        if "local.formatted" in here and self._is_formatted():
            return Role.REFERENCE, "quoted", here["local.formatted"], ""
        if "local.unsure" in here:
            return Role.REFERENCE, "", here["local.unsure"], ""
        return Role.OTHER, "", self._smallest(), ""

    def _smallest(self) -> Node:
        return self.source.node_at(self.start, self.end)

    def _is_exact(self, node: Node) -> bool:
        """Return whether a node is the word, also with a sigil (`#private`, `$variable`, `@field`) or a path to it."""
        if node.end_byte != self.extent[1]:
            return False
        lead = self.source.text[self.source.start_of(node) : self.start]
        return not lead or lead in self.source.syntax.sigils or lead.endswith("/")

    def _is_formatted(self) -> bool:
        """Return whether the place is the name in `{name}` or `{name:…}`."""
        text, start = self.source.text, self.start
        return text[start - 1] == "{" and text[start - 2] != "{" and text[self.end : self.end + 1] in ("}", ":")


_DEFINITION = "local.definition."
_FIRST = ("import", "alias", "accessor", "member")  # kinds that say more than others at the same place
_PLAIN = (
    ("local.other", Role.OTHER),
    ("local.member.call", Role.MEMBER),
    ("local.member.any", Role.MEMBER),
    ("local.member", Role.MEMBER),
    ("local.own", Role.MEMBER),
    ("local.keyword", Role.KEYWORD),
    ("local.global", Role.DEFINITION),
    ("local.nonlocal", Role.DEFINITION),
)


def _kind(definition: str) -> str:
    return definition.removeprefix(_DEFINITION).partition(".")[0]


def _space(capture: str, kind: str) -> str:
    """Return the namespace in which a capture looks up or defines its name."""
    if kind in ("method", "routine"):
        return "call"
    if kind == "tag":
        return "type"
    last = capture.rpartition(".")[2]
    return last if last in ("type", "call", "any") else ""


def _size(node: Node) -> int:
    return node.end_byte - node.start_byte
