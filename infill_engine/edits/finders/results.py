"""A function returns more values than before: propose the assignments of its result."""

import re
from collections.abc import Iterator, Sequence

from tree_sitter import Node

from infill_engine.edits.constructs.calls import Call, calls_of
from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.parsed_text import ParsedText, first_child, innermost
from infill_engine.edits.types import Edit, Kind, Proposal, counted

NAMED, UNNAMED = 0.75, 0.55  # if each new value has a name, and if "_" stands for one
MOST_CALLS = 60
RETURNS = ("return_statement", "return_expression", "return")
LISTS = ("expression_list", "argument_list")  # the nodes of several values, or of one
WRAPPED = ("tuple", "tuple_expression", "array", "array_creation_expression")  # one value that has several
# The text between the beginning of a line and the call: a keyword, what is assigned to, the sign, and `await`.
ASSIGNED = re.compile(r"\s*(?:(?:const|let|var|auto)\s+)?(?P<targets>[^=]*?)\s*(?::=|=)\s*(?:await\s+)?\Z")
TARGET = re.compile(r"[$@\w.]+\Z")
_NAME = re.compile(r"[^\W\d]\w*")
_ERROR = re.compile(r"(?:err|nil|\w+\.(?:New|Errorf|Wrapf?)\(.*\))\Z", re.DOTALL)  # errors in Go


def propose_results(edit: ParsedEdit) -> Iterator[Proposal]:
    """Yield a proposal for the calls of each function whose returns gained values at the end."""
    seen = set()
    for change in edit.changes if edit.syntax.several else ():
        function = _function_at(edit.before, change.start)
        now = _function_at(edit.after, edit.shift.offset(change.start))
        if function is None or now is None or function.id in seen:
            continue
        seen.add(function.id)
        old, new = _results(edit.before, function), _results(edit.after, now)
        if len(old) == len(new) and old and all(len(a) < len(b) and b[: len(a)] == a for a, b in zip(old, new)):  # noqa: B905
            yield from _followed(edit, function, new, len(old[0]))


def _function_at(source: ParsedText, at: int) -> Node | None:
    """Return the function around the text of a line."""
    line = source.text.rfind("\n", 0, at) + 1
    indent = len(source.text[line:at]) - len(source.text[line:at].lstrip())
    return innermost(source.node_at(line + indent, line + indent), source.syntax.functions)


def _results(source: ParsedText, function: Node) -> list[list[str]]:
    """Return the values of each `return`, and of an expression at the end; empty if their numbers differ."""
    values = [_values(source, node) for node in _returns(source, function)]
    return values if len({*map(len, values)}) == 1 else []


def _returns(source: ParsedText, node: Node) -> Iterator[Node | None]:
    """Yield the node that each `return` of a function returns; None if it returns nothing."""
    for child in node.named_children:
        if child.type in RETURNS:
            yield first_child(child)
        elif child.type not in source.syntax.functions:
            yield from _returns(source, child)
    body = node.child_by_field_name("body") if node.type in source.syntax.functions else None
    if body is not None:
        last = body if body.type in LISTS + WRAPPED else next(reversed(body.named_children), None)
        if last is not None and (last.type == "identifier" or last.type in LISTS + WRAPPED):
            yield last


def _values(source: ParsedText, node: Node | None) -> list[str]:
    if node is None:
        return []
    several = node.type in LISTS + WRAPPED
    return [source.text_of(child) for child in (node.named_children if several else [node])]


def _followed(edit: ParsedEdit, function: Node, values: Sequence[Sequence[str]], count: int) -> Iterator[Proposal]:
    """Yield the proposal that makes assignments take the new values. The results had `count` values before."""
    source = edit.before
    wrapped = any(node is not None and node.type in WRAPPED for node in _returns(source, function))
    names = [_name_of(column) for column in list(zip(*values, strict=True))[count:]]
    calls = [call for call in calls_of(source, function) if call.certain]
    made = [edited for call in calls if (edited := _assigned(edit, call, names, count, wrapped=wrapped)) is not None]
    if made and len(calls) <= MOST_CALLS:
        label = f"take {', '.join(names)} from {counted(len(made), 'call')}"
        yield Proposal(tuple(sorted(made)), label, UNNAMED if "_" in names else NAMED, Kind.SIGNATURE)


def _name_of(values: Sequence[str]) -> str:
    """Return a variable name for a result that has one of these values; "_" if none of them suggests a name."""
    if all(map(_ERROR.match, values)):
        return "err"
    for value in values:
        names: list[str] = _NAME.findall(value)
        if names and not value.endswith(")") and names[-1].lower() not in ("none", "null", "nil", "true", "false"):
            return names[-1]
    return "_"


def _assigned(edit: ParsedEdit, call: Call, names: Sequence[str], count: int, *, wrapped: bool) -> Edit | None:
    """Return the edit of the assignment of a call's result; None if it is not assigned, or was edited.

    A variable that takes a list or tuple whole stays as it is.
    """
    source, node = edit.before, call.arguments.parent
    assert node is not None
    text, (start, end) = source.text, source.span_of(node)
    line = text.rfind("\n", 0, start) + 1
    found = ASSIGNED.match(text[line:start])
    rest = text[end:].partition("\n")[0].strip()
    if found is None or rest not in ("", ";"):
        return None
    old = found["targets"]
    bracketed = old[:1] in ("(", "[") and old[-1:] in (")", "]")
    targets = [one.strip() for one in (old[1:-1] if bracketed else old).split(",")]
    if len(targets) != count or not all(map(TARGET.match, targets)) or (count == 1 and bracketed != wrapped):
        return None
    sigil = targets[0][:1] if targets[0].startswith("$") else ""
    brackets = source.syntax.several.strip(",")
    new = f"{brackets[:1]}{', '.join([*targets, *(sigil + name for name in names)])}{brackets[1:]}"
    return edit.replacing(line + found.start("targets"), line + found.end("targets"), new)
