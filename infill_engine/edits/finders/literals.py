"""A literal that occurs several times in one role was changed once: propose the other places."""

import re
from collections.abc import Iterator
from itertools import islice

from tree_sitter import Node

from infill_engine.edits.changes import word_at
from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.parsed_text import ParsedText, ancestors, enclosing
from infill_engine.edits.resolution.literal_roles import role_of
from infill_engine.edits.types import Change, Kind, Proposal
from infill_engine.text.languages.node_types import Syntax

MOST_OTHERS = 12  # equal literals; with more, the literal is a word of the domain, not one value
SAME_FUNCTION, ELSEWHERE = 0.68, 0.62  # in the same function; elsewhere in the text
MANY = 0.93  # factor for each further one
LEAST_CHARS = 3  # of a string
LEAST_DIGITS = 3  # of a whole number
TYPES = ("literal_type", "type")  # nodes of the types that a literal may be part of
MOST_NESTED = 6  # nodes between a literal and its type
# Values that stand for many different things.
COMMON = frozenset("utf-8 utf8 ascii latin-1 name id key value type data text none true false get post".split())


def propose_literals(edit: ParsedEdit) -> list[Proposal]:
    """Return up to two proposals for a changed literal: equal ones in the function, and in the whole text."""
    if len(edit.changes) != 1:
        return []
    before, change = edit.before, edit.changes[0]
    node = _literal(before, change)
    if node is None:
        return []
    start, end = before.span_of(node)
    old = before.text[start:end]
    new = old[: change.start - start] + change.new + old[change.end - start :]
    if not _is_particular(old, edit.syntax, node) or not new.strip() or not _is_still_literal(edit, start, new):
        return []
    role = role_of(before.text, start, end)
    equal = list(_equal_ones(before, old, node, start))
    others = [at for at in equal if role_of(before.text, at, at + len(old)) == role]
    if not others or len(others) > MOST_OTHERS:
        return []
    nodes = (before.node_at(at, at + len(old)) for at in (start, *equal))
    around = (one.type for node in nodes for one in islice(ancestors(node), MOST_NESTED))
    if len(others) < len(equal) and any(name in TYPES for name in around):
        return []  # of what may be this value, a type says all
    function = enclosing(node, edit.syntax.functions)
    first, last = (0, 0) if function is None else before.span_of(function)
    inside = [at for at in others if first <= at < last]
    found: list[Proposal] = []
    everywhere = SAME_FUNCTION if len(inside) == len(others) else ELSEWHERE
    for group, certain in ((others, everywhere), (inside, SAME_FUNCTION - 0.02)):
        made = (edit.replacing(at, at + len(old), new) for at in group)
        edits = tuple(one for one in made if one is not None)
        if edits and not any(proposal.edits == edits for proposal in found):
            label = f"change {len(edits)} more of the same value"
            found.append(Proposal(edits, label, certain * MANY ** (len(edits) - 1), Kind.LITERAL))
    return found


def _literal(source: ParsedText, change: Change) -> Node | None:
    """Return the literal that contains the whole change: a number, or the content of a string."""
    node = source.node_at(*word_at(source.text, change.start, change.end, source.language))
    if node.parent is not None and node.parent.type in source.nodes.strings:
        node = node.parent  # at the quotes
    if node.type in source.nodes.strings and node.named_child_count:
        parts = [child for child in node.named_children if child.type in source.syntax.string_parts]
        node = parts[0] if len(parts) == 1 and node.named_child_count <= 3 else node
    if node.type in source.syntax.numbers:
        return node
    if node.type not in source.syntax.string_parts or node.named_child_count or node.parent is None:
        return None
    if any(sibling.type in ("interpolation", "template_substitution") for sibling in node.parent.named_children):
        return None
    start, end = source.span_of(node)
    return node if start <= change.start and change.end <= end and not _is_documentation(node.parent) else None


def _is_documentation(string: Node) -> bool:
    return string.parent is not None and string.parent.type == "expression_statement"


def _is_particular(old: str, syntax: Syntax, node: Node) -> bool:
    """Return whether equal literals are likely to mean the same thing."""
    if node.type in syntax.numbers:
        digits = re.sub(r"\D", "", old)
        return len(digits.strip("0") or "") >= 2 and len(digits) >= LEAST_DIGITS
    return len(old) >= LEAST_CHARS and re.search(r"\w\w", old) is not None and old.lower() not in COMMON


def _is_still_literal(edit: ParsedEdit, start: int, new: str) -> bool:
    after, place = edit.after, edit.shift.span(start - 1, start - 1) if start else (0, 0)
    at = place[1] + 1 if place is not None and start else edit.shift.offset(start) - len(new)
    node = after.node_at(at, at + len(new))
    types = after.syntax.numbers | after.syntax.string_parts | after.nodes.strings
    return after.text[at : at + len(new)] == new and node.type in types


def _equal_ones(source: ParsedText, old: str, node: Node, start: int) -> Iterator[int]:
    for found in re.finditer(re.escape(old), source.text):
        if found.start() == start:
            continue
        other = source.node_at(found.start(), found.end())
        if other.type != node.type or source.span_of(other) != found.span():
            continue
        if other.type in source.syntax.string_parts:
            above = other.parent
            if above is None or _is_documentation(above):
                continue
            if any(child.type == "interpolation" for child in above.named_children):
                continue
        yield found.start()
