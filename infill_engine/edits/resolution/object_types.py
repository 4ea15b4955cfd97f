"""Find the class of an object whose member is used, as far as declarations in the text tell."""

import re
from collections.abc import Callable, Iterator, Sequence

from tree_sitter import Node

from infill_engine.edits.parsed_text import ParsedText, first_child
from infill_engine.edits.resolution.occurrence import Occurrence, Role

MOST_STEPS = 6  # steps from an object to the variable that it is reached from

Owned = Callable[[str, int], Sequence[Occurrence]]  # the occurrences that mean the same as a name at a place

# `*Type`, `&'a mut Type`, `const struct Type *`, `: Type`, `Type<…>`, `Type | None`
_TYPE = re.compile(
    r"""[\s&*:?"']*(?:(?:mut|const|struct|union|final|ref|'\w+)\b[\s&*]*)*(?P<outer>\w+)\s*"""
    r"""(?P<inner><[\w\s<>&*:'?]*>|\[["'\w]*\])?[\s&*?]*(?:\|\s*(?:None|null|undefined)\s*)*["']?\Z"""
)
# a type with some of another one's properties
_PART = re.compile(r"[\s:]*(?:Omit|Pick|Partial|Readonly|Required)<\s*(\w+)\s*(?:,[^<>]*)?>\s*\Z")
_UNTYPED = ("var", "auto", "let")
_OBJECTS = ("object", "argument", "operand", "value", "expression", "table")  # fields of nodes that are passed through
_MEMBERS = ("name", "property", "attribute", "field")  # fields of members of an object
_FOLDS = ("reduce", "reduceRight")  # methods that do not call with an element first
_NAMES = ("identifier", "variable_name", "name")

Types = tuple[str, ...]  # names, outermost first: the first one that is a class here is the object's


def types_of(source: ParsedText, node: Node | None, owned: Owned, steps: int = MOST_STEPS) -> Types:
    """Return the names in an object's declared type; () if it is not certain, or without an object."""
    if node is None:
        return ()
    cast = node.child_by_field_name("type")
    if cast is not None and node.child_by_field_name("value") is not None:
        return declared_types(source, cast)
    if node.type in _NAMES:
        return _of_name(source, node, owned)
    if node.type in source.syntax.calls:
        field = source.syntax.calls[node.type]
        called = node.child_by_field_name(field) if field else first_child(node)
        word = called if called is None or not called.named_child_count else called.named_children[-1]
        types = () if word is None else _of_name(source, word, owned, called=True)
        return types or _constructed(source, source.text_of(node))
    inner = _object_of(node)
    member = _field(node, _MEMBERS)
    if inner is not None and member is not None:
        return _of_name(source, member, owned)
    return types_of(source, inner, owned, steps - 1) if steps else ()


def root_of(source: ParsedText, node: Node) -> Node:
    """Return the object that an object is reached from: `a` of `a.b[1].c`."""
    for _ in range(MOST_STEPS):
        inner = _object_of(node)
        if inner is None and node.type in source.syntax.calls and node.named_child_count:
            inner = node.named_children[0]
        if inner is None:
            break
        node = inner
    return node


def _object_of(node: Node) -> Node | None:
    """Return the object of a node: `a` of `a.b`, `a[1]`, `*a` and `(a)`."""
    found = _field(node, _OBJECTS)
    single = found is None and node.type not in _NAMES and node.named_child_count == 1
    return node.named_children[0] if single else found


def _field(node: Node, names: Sequence[str]) -> Node | None:
    return next((found for name in names if (found := node.child_by_field_name(name)) is not None), None)


def _of_name(source: ParsedText, node: Node, owned: Owned, *, called: bool = False) -> Types:
    start, end = source.span_of(node)
    name = source.text[start:end].lstrip("$@")
    if not name.isidentifier():
        return ()
    types = set(_declared(source, owned(name, end - len(name)), owned, called=called))
    return types.pop() if len(types) == 1 else ()


def _declared(source: ParsedText, found: Sequence[Occurrence], owned: Owned, *, called: bool) -> Iterator[Types]:
    """Yield the types that the definitions of a name declare; () if one declares none."""
    for one in found:
        if one.role is not Role.DEFINITION and not (one.role is Role.MEMBER and (one.type or one.value)):
            continue
        types = plain_types(one.type) if one.type else _of_element(source, one.node, owned)
        types = types or _constructed(source, one.value)
        if called and one.kind in ("class", "tag"):
            yield (source.text[one.start : one.end],)
        elif (one.kind in ("function", "method", "routine")) is not called:
            yield ()
        elif one.role is Role.DEFINITION or types:
            yield types


def _constructed(source: ParsedText, value: str) -> Types:
    """Return the class that a value is constructed of."""
    match = None if source.syntax.constructs is None else source.syntax.constructs.match(value)
    return () if match is None else tuple(group for group in match.groups() if group)[:1]


def _of_element(source: ParsedText, node: Node, owned: Owned) -> Types:
    """Return the types of a variable that takes the elements of a list: in a loop, or as a parameter."""
    above = node.parent
    if above is None:
        return ()
    right = above.child_by_field_name("right")
    if right is not None and above.child_by_field_name("left") == node and above.type not in source.syntax.assignments:
        return types_of(source, right, owned)
    is_parameter = above.type in source.syntax.parameter_lists | source.syntax.functions
    return types_of_first(source, node if is_parameter else above, owned)


def types_of_first(source: ParsedText, parameter: Node, owned: Owned) -> Types:
    """Return the types of a function's first parameter that is declared elsewhere; () if none is.

    They are in the type of the variable that the function is, or the list has them that calls it with its elements.
    """
    syntax, listed = source.syntax, parameter.parent
    function = listed if listed is None or listed.type in syntax.functions else listed.parent
    above = None if function is None or function.type not in syntax.functions else function.parent
    if listed is None or above is None or not (listed == function or listed.named_children[0] == parameter):
        return ()
    declared = above.child_by_field_name("type")
    if declared is not None and above.child_by_field_name("value") == function:
        return plain_types(source.text_of(declared).rpartition(".")[2])
    call = above.parent if above.type in syntax.argument_lists else None
    callee = None if call is None else call.child_by_field_name(syntax.calls.get(call.type, ""))
    holder = None if callee is None or source.text_of(callee).endswith(_FOLDS) else _object_of(callee)
    return types_of(source, holder, owned)


def declared_types(source: ParsedText, annotation: Node | None) -> Types:
    """Return the names in a type; () without one, or if it is not a plain one."""
    return () if annotation is None else plain_types(source.text_of(annotation))


def plain_types(text: str) -> Types:
    """Return the names in a type, outermost first; () if it is not a plain one."""
    if " & " in text:  # an intersection
        return tuple(name for part in text.split(" & ") for name in plain_types(part))
    part = _PART.match(text)
    if part is not None:
        return (part[1],)
    found = _TYPE.match(text)
    if found is None or found["outer"] in _UNTYPED:
        return ()
    return found["outer"], *re.findall(r"\w+", found["inner"] or "")
