"""The class of an object whose member is looked up, as far as declarations in the text tell."""

import re
from collections.abc import Callable, Iterator, Sequence

from tree_sitter import Node

from infill_engine.edits.occurrence import Occurrence, Role
from infill_engine.edits.source import Source

MOST_STEPS = 6  # from an object to the variable that it is reached from

Owned = Callable[[str, int], Sequence[Occurrence]]  # what means the same as a name at a place

# `*Type`, `&'a mut Type`, `const struct Type *`, `: Type`, `Type<…>`, `Type | None`
_TYPE = re.compile(
    r"""[\s&*:?"']*(?:(?:mut|const|struct|final|ref|'\w+)\b[\s&*]*)*(?:Optional\[["']?)?(\w+)["'\]]*"""
    r"""\s*(?:<[^<>]*>)?[\s&*?]*(?:\|\s*(?:None|null|undefined)\s*)*["']?\Z"""
)
_FIELDS = ("object", "argument", "operand", "value", "expression")  # of a node that is looked up in, or passed through


def type_of(source: Source, node: Node, owned: Owned, steps: int = MOST_STEPS) -> str:
    """Return the name of an object's class, "" if it is not certain. A name of a class is its own type."""
    syntax = source.syntax
    cast = node.child_by_field_name("type")
    if not steps or node.type in ("identifier", "variable_name", "name") or cast is not None:
        return _of_name(source, node, owned) if cast is None else _plain(source.text_of(cast))
    if node.type in syntax.members:
        named = node.named_children[-1]
        return _of_name(source, named, owned)
    if node.type in syntax.calls:
        field = syntax.calls[node.type]
        called = node.child_by_field_name(field) if field else next(iter(node.named_children), None)
        if called is None:
            return ""
        word = called.named_children[-1] if called.type in syntax.members else called
        return _of_name(source, word, owned, called=True)
    inner = next((found for name in _FIELDS if (found := node.child_by_field_name(name)) is not None), None)
    if inner is None and len(node.named_children) == 1:
        inner = node.named_children[0]
    return "" if inner is None else type_of(source, inner, owned, steps - 1)


def root_of(source: Source, node: Node) -> Node:
    """Return the object that an object is reached from: `a` of `a.b[1].c`."""
    for _ in range(MOST_STEPS):
        inner = next((found for name in _FIELDS if (found := node.child_by_field_name(name)) is not None), None)
        if inner is None and node.type in (*source.syntax.members, *source.syntax.calls) and node.named_child_count:
            inner = node.named_children[0]
        if inner is None and "parenthesized" in node.type and node.named_child_count:
            inner = node.named_children[0]
        if inner is None:
            break
        node = inner
    return node


def _of_name(source: Source, node: Node, owned: Owned, *, called: bool = False) -> str:
    start, end = source.span_of(node)
    name = source.text[start:end].lstrip("$@")
    if not name.isidentifier():
        return ""
    found = owned(name, end - len(name))
    types = set(_declared(source, found, called=called))
    return types.pop() if len(types) == 1 else ""


def _declared(source: Source, found: Sequence[Occurrence], *, called: bool) -> Iterator[str]:
    """Yield the types that the definitions of a name declare; "" for one that declares none."""
    for one in found:
        if one.role is not Role.DEFINITION and not (one.role is Role.MEMBER and (one.type or one.value)):
            continue
        function = one.kind in ("function", "method", "routine")
        if function is not called:
            yield ""
            continue
        kind = _plain(one.type) if one.type else ""
        constructs = source.syntax.constructs
        match = constructs.match(one.value) if constructs is not None and one.value and not kind else None
        if one.role is Role.DEFINITION or kind or match is not None:
            yield kind or ("" if match is None else next((group for group in match.groups() if group), ""))


def _plain(text: str) -> str:
    found = _TYPE.match(text)
    return "" if found is None or found[1] in ("var", "auto", "let", "Optional") else found[1]
