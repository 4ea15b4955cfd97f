"""Where a function is called, as far as names and scopes tell."""

from dataclasses import dataclass, field, replace

from tree_sitter import Node

from infill_engine.edits.grammar import Grammar
from infill_engine.edits.names import SELF, Names, Occurrence, Role, class_name
from infill_engine.edits.parameters import decorators_of
from infill_engine.edits.source import Source, enclosing


@dataclass(frozen=True, slots=True)
class Call:
    """A call. `implicit` is how many of the function's first parameters it does not pass: 1 for `self`.

    `certain` is false where the function is looked up in an object of which only the name of the method is known.
    """

    arguments: Node = field(compare=False)
    implicit: int
    certain: bool = True


def calls_of(source: Source, grammar: Grammar, function: Node) -> list[Call]:
    """The calls of a function of the text, in order; of a data class, what constructs it."""
    if function.type == "class_definition":
        return [replace(call, implicit=0) for call in _constructions(source, grammar, function)]
    name = name_of(function)
    if name is None:
        return []
    holder = _class_around(grammar, function)
    if holder is not None and source.text_of(name) == grammar.constructor:
        return _constructions(source, grammar, holder)
    start, _ = source.span_of(name)
    names = Names.of(source, source.text_of(name).lstrip("#"))
    start += source.text_of(name).startswith("#")
    defined = None if names is None else names.at(start)
    if names is None or defined is None or not defined.owner:
        return []
    static = holder is not None and _is_static(source, function)
    found = []
    for one in names.all:
        certain = one.owner == defined.owner
        if one.role not in (Role.REFERENCE, Role.MEMBER) or not (
            certain or (one.role is Role.MEMBER and not one.owner)
        ):
            continue
        arguments = _called(one, grammar)
        if arguments is None or (not certain and holder is None):
            continue
        implicit = 0
        if holder is not None and grammar.explicit_self and not static:
            implicit = int(not _is_unbound(source, one, holder) or _has_decorator(source, function, "classmethod"))
        found.append(Call(arguments, implicit, certain))
    return found


def name_of(function: Node) -> Node | None:
    """The node that names a function: its own, or that of the variable or field it is assigned to."""
    own = function.child_by_field_name("name")
    if own is not None or function.parent is None:
        return own
    if function.parent.type in ("variable_declarator", "public_field_definition"):
        return function.parent.child_by_field_name("name")
    return function.parent.child_by_field_name("property") if function.parent.type == "field_definition" else None


def _constructions(source: Source, grammar: Grammar, holder: Node) -> list[Call]:
    """`Class(…)`, `new Class(…)`, and `cls(…)` inside of the class."""
    found = []
    implicit = int(grammar.explicit_self)
    name = class_name(source, holder)
    names = Names.of(source, name)
    if names is not None:
        node = next((n for n in (holder, holder.parent) if n is not None and n.child_by_field_name("name")), holder)
        own = node.child_by_field_name("name")
        defined = None if own is None else names.at(source.span_of(own)[0])
        uses = [] if defined is None else names.owned(defined.owner, Role.REFERENCE)
        found += [Call(arguments, implicit) for one in uses if (arguments := _called(one, grammar)) is not None]
    inside = Names.of(source, "cls") if grammar.explicit_self else None
    for one in inside.all if inside is not None else ():
        arguments = _called(one, grammar) if one.role is Role.REFERENCE else None
        if arguments is not None and _class_holding(one.node) == holder:
            found.append(Call(arguments, implicit))
    return sorted(found, key=lambda call: call.arguments.start_byte)


def _called(one: Occurrence, grammar: Grammar) -> Node | None:
    """The arguments, if an occurrence is what a call calls."""
    callee = one.node
    if one.role is Role.MEMBER:
        if callee.parent is None or callee.parent.type not in grammar.members:
            return None
        callee = callee.parent
    call = callee.parent
    if call is None or call.type not in grammar.calls:
        return None
    if call.child_by_field_name(grammar.calls[call.type]) != callee:
        return None
    arguments = call.child_by_field_name("arguments")
    return arguments if arguments is not None and arguments.type in ("argument_list", "arguments") else None


def _class_around(grammar: Grammar, function: Node) -> Node | None:
    """The class whose method a function is."""
    around = enclosing(function, ("class_definition", "class_body", *grammar.functions))
    return around if around is not None and around.type in ("class_definition", "class_body") else None


def _class_holding(node: Node) -> Node | None:
    return enclosing(node, ("class_definition", "class_body"))


def _is_unbound(source: Source, one: Occurrence, holder: Node) -> bool:
    """`Class.method(object, …)` passes the object itself."""
    parent = one.node.parent
    looked_up = None if parent is None or one.role is not Role.MEMBER else parent.child_by_field_name("object")
    text = "" if looked_up is None else source.text_of(looked_up)
    return text not in SELF and text == class_name(source, holder)


def _is_static(source: Source, function: Node) -> bool:
    return _has_decorator(source, function, "staticmethod")


def _has_decorator(source: Source, function: Node, name: str) -> bool:
    return any(source.text_of(node).lstrip("@").strip() == name for node in decorators_of(function))
