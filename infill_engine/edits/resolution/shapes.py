"""Which type an object literal, a pattern or an attribute of JSX must have at its place, in JavaScript and TypeScript.

A parameter that takes an object apart has a shape of its own, named after its place: `#12`.
"""

from tree_sitter import Node

from infill_engine.edits.parsed_text import ParsedText, ancestors, enclosing, first_child, innermost
from infill_engine.edits.resolution.object_types import Owned, Types, declared_types, types_of, types_of_first
from infill_engine.edits.resolution.occurrence import Role

MOST_STEPS = 8  # nodes between a literal and what says its type
_THROUGH = ("parenthesized_expression", "array", "ternary_expression", "binary_expression", "await_expression")
_FUNCTIONS = ("function_declaration", "function_expression", "arrow_function", "method_definition")
_CLASSES = ("class_declaration", "class", "abstract_class_declaration")
_PATTERNS = ("object_pattern", "shorthand_property_identifier_pattern", "pair_pattern", "object_assignment_pattern")
_ATTRIBUTES = ("jsx_opening_element", "jsx_self_closing_element")


def shape_name(node: Node) -> str:
    """Return the name of the shape that a parameter gives to its pattern or has as its type; "" for other nodes."""
    found = _parameter(node)
    near = (node, node.parent, None if node.parent is None else node.parent.parent)
    direct = found in near[:2] or (found == near[2] and node.type == "object_type")
    return "" if found is None or not direct else f"#{found.start_byte}"


def types_at(source: ParsedText, node: Node, owned: Owned) -> Types:
    """Return the names in the type of an object, by one of its keys; () if the text does not tell."""
    above = node.parent
    if above is None:
        return ()
    if node.type in _PATTERNS or above.type in _PATTERNS:
        pattern = innermost(node, ("object_pattern",))
        return () if pattern is None else _of_pattern(source, pattern, owned)
    if above.type == "jsx_attribute":
        element = above.parent
        name = None if element is None or element.type not in _ATTRIBUTES else element.child_by_field_name("name")
        return () if name is None or name.type != "identifier" else _passed(source, name, 0, owned)
    literal = above if above.type == "object" else above.parent
    return () if literal is None or literal.type != "object" else _expected(source, literal, owned)


def _of_parameter(source: ParsedText, parameter: Node, owned: Owned) -> Types:
    """Return the types of a parameter: declared, of a list's elements, or the shape of its own pattern."""
    declared = parameter.child_by_field_name("type")
    pattern = parameter.child_by_field_name("pattern") or parameter.child_by_field_name("left") or parameter
    shape = (shape_name(parameter),) if pattern.type == "object_pattern" else ()
    if declared is not None:
        inline = declared.named_child_count and declared.named_children[0].type == "object_type"
        return (shape_name(parameter),) if inline else declared_types(source, declared)
    return types_of_first(source, parameter, owned) or shape


def _of_pattern(source: ParsedText, pattern: Node, owned: Owned) -> Types:
    above = pattern.parent
    if above is None:
        return ()
    if above.type == "variable_declarator":
        declared, value = above.child_by_field_name("type"), above.child_by_field_name("value")
        return types_of(source, value, owned) if declared is None else declared_types(source, declared)
    if above.type == "for_in_statement":
        return types_of(source, above.child_by_field_name("right"), owned)
    parameter = _parameter(pattern)
    inside = parameter in (pattern, above)
    return _of_parameter(source, parameter, owned) if parameter is not None and inside else ()


def _expected(source: ParsedText, node: Node, owned: Owned) -> Types:
    """Return the types that an expression must have at its place."""
    for _ in range(MOST_STEPS):
        above = node.parent
        if above is None:
            break
        if above.type in ("as_expression", "satisfies_expression"):
            return declared_types(source, above.named_children[-1])
        if above.type in ("variable_declarator", "public_field_definition", "required_parameter"):
            return declared_types(source, above.child_by_field_name("type"))
        if above.type == "assignment_expression":
            return types_of(source, above.child_by_field_name("left"), owned)
        if above.type == "arguments" and above.parent is not None:
            callee = above.parent.child_by_field_name("function") or above.parent.child_by_field_name("constructor")
            index = [one for one in above.named_children if one.type != "comment"].index(node)
            return () if callee is None or callee.type != "identifier" else _passed(source, callee, index, owned)
        if above.type == "return_statement" or (above.type == "arrow_function" and node.prev_sibling is not None):
            function = enclosing(node, _FUNCTIONS)
            return () if function is None else declared_types(source, function.child_by_field_name("return_type"))
        if above.type not in _THROUGH:
            break
        node = above
    return ()


def _passed(source: ParsedText, callee: Node, index: int, owned: Owned) -> Types:
    """Return the types of an argument of a function that is called by its name."""
    meant = owned(source.text_of(callee), source.start_of(callee))
    defined = (one.node.parent for one in meant if one.role is Role.DEFINITION)
    found = {_types_of_parameter(source, node, index, owned) for node in defined if node is not None}
    return found.pop() if len(found) == 1 else ()


def _types_of_parameter(source: ParsedText, definition: Node, index: int, owned: Owned) -> Types:
    function: Node | None = definition
    if definition.type == "variable_declarator":
        function = definition.child_by_field_name("value")
    while function is not None and function.type == "call_expression":  # `memo(…)`
        function = first_child(function.child_by_field_name("arguments"))
    if function is not None and function.type in _CLASSES:
        body = function.child_by_field_name("body")
        members = () if body is None else body.named_children
        function = next((one for one in members if source.name_of(one) == "constructor"), None)
    if function is None or function.type not in _FUNCTIONS:
        return ()
    parameters = function.child_by_field_name("parameters")
    nodes = [] if parameters is None else [node for node in parameters.named_children if node.type != "comment"]
    return _of_parameter(source, nodes[index], owned) if index < len(nodes) else ()


def _parameter(node: Node) -> Node | None:
    """Return the parameter that a node is in."""
    around = (one for one in (node, *ancestors(node)) if one.parent is not None)
    return next((one for one in around if one.parent and one.parent.type == "formal_parameters"), None)
