"""Find the calls of a function, as far as names and scopes tell."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from infill_engine.edits.constructs.parameters import decorators_of, parameter_list_of
from infill_engine.edits.parsed_text import ParsedText, enclosing, first_child
from infill_engine.edits.resolution.captures import class_name
from infill_engine.edits.resolution.definitions import meant_by
from infill_engine.edits.resolution.names import Names
from infill_engine.edits.resolution.occurrence import Occurrence, Role, defines
from infill_engine.text.languages.node_types import Syntax

_FUNCTIONS = ("function", "member", "method", "routine")


@dataclass(frozen=True, slots=True)
class Call:
    """A call. `implicit` is the number of the function's first parameters that it does not pass: 1 for `self`.

    `certain` is false if the class of the object is unknown and only the method's name matches.
    """

    arguments: Node = field(compare=False)
    implicit: int
    certain: bool = True


def calls_of(source: ParsedText, function: Node) -> list[Call]:
    """Return the calls of a function, or of a data class's constructor, in order; empty if unsure."""
    syntax = source.syntax
    if function.type in syntax.heads | syntax.classes:
        body = function.child_by_field_name("body") if function.type in syntax.heads else None
        others = [] if body is None else [one for one in body.named_children if one.type in syntax.constructors]
        return [] if others else [replace(call, implicit=0) for call in _constructions(source, function)]
    is_assigned = function.type in syntax.assignments  # the class is what a call makes
    name = function.child_by_field_name("left") if is_assigned else name_of(function)
    if name is None:
        return []
    word_node = name.named_children[-1] if name.named_child_count else name
    text = source.text_of(word_node)
    holder = enclosing(function, syntax.classes | syntax.functions)
    is_member = holder is not None and holder.type in syntax.classes
    if holder is not None and is_member and not syntax.constructors.isdisjoint((text, function.type)):
        same = sum(child.type == function.type for child in holder.named_children)
        overloaded = syntax.overloads and same > 1 and function.type in syntax.constructors
        return [] if overloaded else _constructions(source, holder)
    end = source.span_of(word_node)[1]
    word = text.lstrip("".join(syntax.sigils))
    names = Names.of(source, word)
    defined = names.at(end - len(word))
    if names.opaque or defined is None or defined.owner is None:
        return []
    if not _is_one(source, names.owned(defined.owner), defined):
        return []
    method = names.scopes[defined.owner.scope].is_class
    parameters = parameter_list_of(syntax, function)
    receiver = parameters is not None and any(one.type in syntax.receivers for one in parameters.named_children)
    found = []
    for one in names.all:
        certain = one.owner == defined.owner
        loose = one.role is Role.MEMBER and one.owner is None
        if one.role not in (Role.REFERENCE, Role.MEMBER) or not (certain or loose):
            continue
        arguments = _called(source, one)
        if arguments is None or (loose and not method):
            continue
        unbound = _is_unbound(source, one, names.scopes[defined.owner.scope].names)
        above = one.node.parent
        otherwise = name.type in syntax.members and above is not None and above.type != name.type
        if (receiver and unbound) or otherwise:  # `object:name` is called as `object.name`, or vice versa
            return []  # the object is among the arguments
        implicit = 0
        if method and syntax.explicit_self and not _has_decorator(source, function, "staticmethod"):
            implicit = int(not unbound or _has_decorator(source, function, "classmethod"))
        found.append(Call(arguments, implicit, certain))
    return found


def _is_one(source: ParsedText, group: Sequence[Occurrence], defined: Occurrence) -> bool:
    """Return whether the whole group certainly means the function that is defined at a place, and not a copy of it or
    a method that it overrides."""
    if any(one.unsure for one in group) or is_overloaded(group, source.syntax) or _overrides(source, defined, group):
        return False
    return meant_by(source, group, [defined], [one for one in group if defines(one, source.syntax)]) is not None


def _overrides(source: ParsedText, defined: Occurrence, group: Sequence[Occurrence]) -> bool:
    """Return whether the base of the class around a definition defines the same method."""
    holder = enclosing(defined.node, source.syntax.classes)
    if holder is None or holder.parent is None:
        return False
    named = holder if holder.child_by_field_name("name") is not None else holder.parent
    body = holder.child_by_field_name("body") or holder
    head = source.text[source.start_of(named) : source.start_of(body)]
    others = (enclosing(one.node, source.syntax.classes) for one in group if defines(one, source.syntax))
    names = {class_name(source, other) for other in others if other is not None and other != holder}
    return any(name and re.search(rf"\b{re.escape(name)}\b", head) for name in names)


def _names_a_function(one: Occurrence, syntax: Syntax) -> bool:
    """Return whether a definition is the name of a function with a body."""
    function = enclosing(one.node, syntax.functions)
    name = None if function is None else name_of(function)
    return name is not None and name.end_byte == one.node.end_byte


def name_of(function: Node) -> Node | None:
    """Return the node that names a function: its own name, or the variable or field that it is assigned to."""
    node: Node | None = function
    while node is not None:
        own = node.child_by_field_name("name")
        if own is not None:
            return own
        inner = node.child_by_field_name("declarator")
        if inner is None and node != function:
            return node
        node = inner
    above = function.parent
    return None if above is None else above.child_by_field_name("name") or above.child_by_field_name("property")


def _constructions(source: ParsedText, holder: Node) -> list[Call]:
    """Yield the constructions of a class: `Class(…)`, `new Class(…)`, and `cls(…)` inside the class."""
    implicit = int(source.syntax.explicit_self)
    name = class_name(source, holder)
    names = Names.of(source, name)
    node = next((n for n in (holder, holder.parent) if n is not None and n.child_by_field_name("name")), holder)
    own = node.child_by_field_name("name")
    defined = None if own is None else names.at(source.span_of(own)[0])
    uses = [] if defined is None else names.owned(defined.owner, Role.REFERENCE)
    found = [Call(arguments, implicit) for one in uses if (arguments := _called(source, one)) is not None]
    for one in Names.of(source, "cls").all if source.syntax.explicit_self else ():
        arguments = _called(source, one) if one.role is Role.REFERENCE else None
        if arguments is not None and enclosing(one.node, source.syntax.classes) == holder:
            found.append(Call(arguments, implicit))
    return sorted(found, key=lambda call: call.arguments.start_byte)


def _called(source: ParsedText, one: Occurrence) -> Node | None:
    """Return the arguments of the call whose callee an occurrence is; None if there is none."""
    callee, syntax = one.node, source.syntax
    if one.role is Role.MEMBER and callee.parent is not None and callee.parent.type in syntax.members:
        callee = callee.parent
    call = callee.parent
    if call is None or call.type not in syntax.calls:
        return None
    if not _is_called(call, callee, syntax.calls[call.type]) and not _is_made(source, call, callee):
        return None
    listed = (child for child in call.named_children if child.type in syntax.argument_lists)
    arguments = call.child_by_field_name("arguments") or next(listed, None)
    return arguments if arguments is not None and arguments.type in syntax.argument_lists else None


def _is_made(source: ParsedText, call: Node, callee: Node) -> bool:
    """Return whether a call of a class's method makes an object."""
    method = call.child_by_field_name("method") if source.syntax.maker else None
    made = method is not None and source.text_of(method) == source.syntax.maker
    return made and call.child_by_field_name("receiver") == callee


def _is_called(call: Node, callee: Node, name: str) -> bool:
    """Return whether a node is in the call's field for the callee; "" stands for the call's first node."""
    called = call.child_by_field_name(name) if name else first_child(call)
    while called is not None and called != callee and called.type == "generic_type":
        called = first_child(called)
    return called == callee


def is_overloaded(group: Sequence[Occurrence], syntax: Syntax) -> bool:
    """Return whether the group may name several functions: several have a body, or several have none."""
    if not syntax.overloads:
        return False
    defined = [one for one in group if one.role is Role.DEFINITION and one.kind in _FUNCTIONS]
    bodies = sum(_names_a_function(one, syntax) for one in defined)
    return bodies > 1 or len(defined) - bodies > 1


def _is_unbound(source: ParsedText, one: Occurrence, holders: Sequence[str]) -> bool:
    """Return whether a call passes the object itself: `Class.method(object, …)`."""
    text = "" if one.holder is None or one.role is not Role.MEMBER else source.text_of(one.holder)
    return text not in source.syntax.self_names and text in (*holders, "Self")


def _has_decorator(source: ParsedText, function: Node, name: str) -> bool:
    return any(source.text_of(node).lstrip("@").strip() == name for node in decorators_of(function))
