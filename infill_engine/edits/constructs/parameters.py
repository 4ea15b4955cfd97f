"""The parameters of a function and the arguments of a call, as lists that can be compared."""

import re
from dataclasses import dataclass, field
from enum import Enum, auto

from tree_sitter import Node

from infill_engine.edits.parsed_text import ParsedText, first_child
from infill_engine.text.languages.node_types import Syntax

_DATA_CLASS = re.compile(r"@\s*(dataclasses\.)?dataclass\b")


class Passing(Enum):
    """How an argument for a parameter can be passed."""

    ANY = auto()  # by position, and by name where the language allows it
    NAME = auto()
    REST = auto()  # any number


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter. A call may omit an `optional` one. `text` is all of it, with its annotation and default."""

    name: str
    passing: Passing
    optional: bool
    text: str


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call: its place in characters, and the name it is passed by, "" for none."""

    start: int
    end: int
    text: str
    name: str
    splat: bool
    node: Node = field(compare=False)


def parameters_of(source: ParsedText, function: Node) -> tuple[Parameter, ...] | None:
    """Return the parameters in order; None if one of them has no name of its own or the list is broken."""
    holder = parameter_list_of(source.syntax, function)
    if holder is None or holder.has_error:
        return None
    found: list[Parameter] = []
    passing = Passing.ANY
    for node in holder.children:
        if node.type in ("keyword_separator", "*"):
            passing = Passing.NAME
        if not node.is_named or node.type in source.syntax.markers or node.type in source.syntax.receivers:
            continue
        rest = any(one.type in source.syntax.rests for one in (node, *node.named_children[:1]))
        names = [name for each in _names_of(node) if (name := _name_of(source, each)) is not None]
        if rest and not names:
            names = [source.text_of(node)]
        if not names or any(other.name in names for other in found):
            return None
        if node.type in source.syntax.keyword_parameters:
            passing = Passing.NAME
        default = node.child_by_field_name("value") or node.child_by_field_name("default_value")
        optional = rest or node.type in source.syntax.defaults or default is not None
        passed = Passing.REST if rest else passing
        found += [Parameter(name, passed, optional, source.text_of(node)) for name in names]
        if rest:
            passing = Passing.NAME
    return tuple(found)


def parameter_list_of(syntax: Syntax, function: Node) -> Node | None:
    """Return a function's list of parameters, which may be inside its declarator."""
    node: Node | None = function
    while node is not None:
        holder = node.child_by_field_name("parameters")
        if holder is not None:
            return holder if holder.type in syntax.parameter_lists else None
        if node.type in syntax.heads:
            return next((child for child in node.named_children if child.type in syntax.parameter_lists), None)
        node = node.child_by_field_name("declarator")
    return None


def fields_of(source: ParsedText, holder: Node) -> tuple[Parameter, ...] | None:
    """Return the fields of a Python data class, which are its constructor's parameters; None if that is not certain.

    A class with bases may have inherited fields before its own. An assignment may make a named tuple instead.
    """
    if holder.type == "assignment":
        made = holder.child_by_field_name("right")
        return None if made is None or made.type != "call" else _components_of(source, made)
    body = holder.child_by_field_name("body")
    decorators = [source.text_of(child) for child in decorators_of(holder)]
    told = next((match for text in decorators if (match := _DATA_CLASS.match(text))), None)
    if body is None or body.has_error or told is None or holder.child_by_field_name("superclasses") is not None:
        return None
    passing = Passing.NAME if "kw_only" in told.string else Passing.ANY
    found: list[Parameter] = []
    for statement in body.named_children:
        inner = statement.named_children[0] if statement.type == "expression_statement" else None
        if inner is None or inner.type != "assignment" or inner.child_by_field_name("type") is None:
            continue
        name, value = inner.child_by_field_name("left"), inner.child_by_field_name("right")
        text = source.text_of(inner)
        if name is None or name.type != "identifier" or "init=" in text or "KW_ONLY" in text or "InitVar" in text:
            return None
        if "ClassVar" not in text:
            found.append(Parameter(source.text_of(name), passing, value is not None, text))
    return tuple(found)


def _components_of(source: ParsedText, made: Node) -> tuple[Parameter, ...] | None:
    """Return the fields of a named tuple that a Python call makes; None if it makes none or gives them values."""
    holder, callee = made.child_by_field_name("arguments"), made.child_by_field_name("function")
    if holder is None or callee is None or made.has_error or not source.text_of(callee).endswith("namedtuple"):
        return None
    listed = holder.named_children[1:]
    if len(listed) != 1:
        return None
    parts = listed if listed[0].type == "string" else [one for one in listed[0].named_children if one.type == "string"]
    words = [word for part in parts for word in re.findall(r"[^\W\d]\w*", source.text_of(part))]
    return tuple(Parameter(word, Passing.ANY, optional=False, text=word) for word in words)


def decorators_of(node: Node) -> list[Node]:
    """Return the decorators of a Python function or class."""
    if node.parent is None or node.parent.type != "decorated_definition":
        return []
    return [child for child in node.parent.named_children if child.type == "decorator"]


def arguments_of(source: ParsedText, holder: Node) -> tuple[Argument, ...] | None:
    """Return the arguments of a call in order; None if they are broken or not a list."""
    if holder.has_error or source.text_of(holder)[:1] != "(":
        return None
    found = []
    for node in holder.named_children:
        if node.type in source.nodes.comments:
            continue
        name = label_of(node) if node.type in source.syntax.named_arguments else None
        start, end = source.span_of(node)
        spelled = "" if name is None else source.text_of(name)
        splat = node.type in source.syntax.splats or (bool(spelled) and not spelled.isidentifier())
        found.append(Argument(start, end, source.text[start:end], spelled, splat, node))
    return tuple(found)


def label_of(argument: Node) -> Node | None:
    """Return the node of the name that an argument is passed by."""
    return argument.child_by_field_name("name") or argument.child_by_field_name("key")


def _names_of(node: Node) -> list[Node]:
    """Return the nodes that name the declared parameters: several in `a, b int`."""
    found = (node.children_by_field_name(inner) for inner in ("name", "pattern", "left", "declarator"))
    return next(filter(None, found), [node])


def _name_of(source: ParsedText, node: Node) -> str | None:
    while node.type not in ("identifier", "variable_name"):
        inner = node.child_by_field_name("declarator") or first_child(node)
        if inner is None or (node.type.endswith("_pattern") and len(node.named_children) != 1) or node.type == "this":
            return None
        node = inner
    return source.text_of(node).lstrip("$")
