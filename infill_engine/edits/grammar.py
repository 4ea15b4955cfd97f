"""The node types and fields that calls, functions and parameters have in a language's grammar."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Grammar:
    """Names of nodes and fields. Fields that a grammar lacks are empty."""

    functions: frozenset[str]
    calls: dict[str, str]  # type of a call -> the field of what is called
    members: frozenset[str]  # `object.name`
    assignments: frozenset[str]
    strings: frozenset[str]
    numbers: frozenset[str]
    string_parts: frozenset[str]
    comments: frozenset[str]
    constructor: str
    keyword_arguments: bool  # `f(name=value)`
    explicit_self: bool  # the first parameter of a method is the object
    defaults: frozenset[str]  # types of parameters that a call may leave out
    splats: frozenset[str]  # arguments that stand for any number of others


PYTHON = Grammar(
    functions=frozenset(("function_definition", "lambda")),
    calls={"call": "function"},
    members=frozenset(("attribute",)),
    assignments=frozenset(("assignment", "augmented_assignment")),
    strings=frozenset(("string",)),
    numbers=frozenset(("integer", "float")),
    string_parts=frozenset(("string_content",)),
    comments=frozenset(("comment",)),
    constructor="__init__",
    keyword_arguments=True,
    explicit_self=True,
    defaults=frozenset(("default_parameter", "typed_default_parameter")),
    splats=frozenset(("list_splat", "dictionary_splat", "parenthesized_list_splat")),
)
ECMA = Grammar(
    functions=frozenset(
        (
            "function_declaration",
            "function_expression",
            "generator_function",
            "generator_function_declaration",
            "arrow_function",
            "method_definition",
        )
    ),
    calls={"call_expression": "function", "new_expression": "constructor"},
    members=frozenset(("member_expression",)),
    assignments=frozenset(("assignment_expression", "augmented_assignment_expression")),
    strings=frozenset(("string",)),
    numbers=frozenset(("number",)),
    string_parts=frozenset(("string_fragment",)),
    comments=frozenset(("comment",)),
    constructor="constructor",
    keyword_arguments=False,
    explicit_self=False,
    defaults=frozenset(("assignment_pattern", "optional_parameter", "rest_pattern")),
    splats=frozenset(("spread_element",)),
)
GRAMMARS = {
    "python": PYTHON,
    "javascript": ECMA,
    "javascriptreact": ECMA,
    "typescript": ECMA,
    "typescriptreact": ECMA,
}
