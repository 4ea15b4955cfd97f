"""A variant was added to an enumeration or a union: propose its case wherever all other variants have one, and its
branch in chains of comparisons with at least two others.

enum Colour { Red, Green }          and so     match colour { Colour::Red => 1, Colour::Green => 1, }

The new case is a copy of the one of the variant above, with the new name.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from tree_sitter import Node

from infill_engine.edits.changes import inserted
from infill_engine.edits.constructs.chains import ConditionalBranch, chains_with, compares, joint
from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.parsed_text import ParsedText, enclosing, first_child, holds, innermost
from infill_engine.edits.tokens import whole
from infill_engine.edits.types import Edit, Kind, Proposal, counted
from infill_engine.text import lines

CONFIDENCE = 0.6
LEAST_OTHERS = 2  # variants; fewer may be handled by chance
MOST_CASES = 20
MOST_CHARS = 600  # of a case


def propose_new_cases(edit: ParsedEdit, target: ParsedText | None = None) -> Iterator[Proposal]:
    """Yield a proposal for each variant that the changes add, for the edited text or for another one."""
    for change, start, end in inserted(edit.changes):
        at = end - len(change.new.lstrip(" \t\r\n,|"))
        listed, variants = _variants(edit.after, at) if change.new.strip(" \t\r\n,|") else (None, [])
        fresh = [one for one in variants if start <= edit.after.start_of(one) < end]
        if listed is not None and len(fresh) == 1 and len(variants) > LEAST_OTHERS:
            yield from _cases(edit.after, fresh[0], variants, target or edit.after)


def _variants(source: ParsedText, at: int) -> tuple[Node | None, list[Node]]:
    """Return the list of variants around a place, and the variants."""
    listed = innermost(source.node_at(at, at + 1), source.syntax.choices)
    while listed is not None and listed.parent is not None and listed.parent.type == listed.type == "union_type":
        listed = listed.parent
    return listed, [] if listed is None else [one for one in _leaves(listed) if _name(source, one)]


def _leaves(listed: Node) -> Iterator[Node]:
    for child in listed.named_children:
        yield from _leaves(child) if child.type == listed.type else (child,)


def _name(source: ParsedText, variant: Node) -> str:
    """Return a variant's name, or the whole of a literal; "" for what is no variant."""
    if variant.type in source.syntax.functions | source.nodes.comments | {"decorated_definition"}:
        return ""
    if variant.type == "object_type":
        return _discriminant(source, variant)
    inner = (first_child(variant) if variant.type == "expression_statement" else None) or variant
    name = inner.child_by_field_name("name") or inner.child_by_field_name("left")
    return "" if name is None and inner != variant else source.text_of(name or inner)


def _discriminant(source: ParsedText, variant: Node) -> str:
    """Return the literal in an object's type that tells it from the other variants: `{ kind: 'circle'; … }`."""
    for member in variant.named_children:
        declared = member.child_by_field_name("type")
        only = None if declared is None or declared.named_child_count != 1 else declared.named_children[0]
        if only is not None and only.type == "literal_type":
            return source.text_of(only)
    return ""


def _cases(source: ParsedText, fresh: Node, variants: Sequence[Node], target: ParsedText) -> Iterator[Proposal]:
    """Yield the proposal that copies the cases of the nearest variant of the same form, those above first."""
    others = [one for one in variants if one != fresh]
    names, new = [_name(source, one) for one in others], _name(source, fresh)
    above = [one for one in others if one.start_byte < fresh.start_byte]
    nearest = [*reversed(above), *others[len(above) :]]
    form = _form(source, fresh)
    model = next((one for one in nearest if _form(source, one) == form), None)
    if model is None or new in names:
        return
    old = _name(source, model)
    arms = (_copied(target, arm, old, new) for arm in _arms(target, old, names))
    branches = (_branched(target, found, old, new, names) for found in chains_with(target, old))
    edits = sorted({made for made in chain(arms, branches) if made is not None})
    if edits and len(edits) <= MOST_CASES:
        label = f"add {counted(len(edits), 'case')} of {new}, copied from {old}"
        yield Proposal(tuple(edits), label, CONFIDENCE, Kind.FIELD)


def _form(source: ParsedText, variant: Node) -> tuple[str, ...]:
    """Return the signs of a variant, which say what it holds."""
    signs = re.findall(r"[(){}]", source.text_of(variant))
    return (variant.type, *signs) if variant.type != "enum_assignment" else ("property_identifier",)


def _arms(source: ParsedText, old: str, names: Sequence[str]) -> Iterator[Node]:
    """Yield the cases of a variant beside which there is one for each other."""
    for found in whole(old).finditer(source.text):
        node = source.node_at(found.start(), found.end())
        arm = enclosing(node, source.syntax.arms)
        if arm is None or arm.parent is None or not holds(arm.named_children[0], node):
            continue
        labels = [source.text_of(one.named_children[0]) for one in arm.parent.named_children if one.type == arm.type]
        if all(any(map(whole(name).search, labels)) for name in names):
            yield arm


def _copied(source: ParsedText, arm: Node, old: str, new: str) -> Edit | None:
    """Return the insertion of a case like another one, after it; None if the cases are not written alike."""
    assert arm.parent is not None
    arms = [one for one in arm.parent.named_children if one.type == arm.type]
    index = arms.index(arm)
    pair = (arms[index], arms[index + 1]) if index + 1 < len(arms) else (arms[index - 1], arms[index])
    between = source.text[source.to_char(pair[0].end_byte) : source.start_of(pair[1])]
    start, end = source.span_of(arm)
    text = source.text[start:end]
    if len(text) > MOST_CHARS or between.strip(", \t\r\n") or not between or len(arms) < LEAST_OTHERS:
        return None
    if text.endswith(",") is not source.text_of(pair[0]).endswith(","):
        between = "," + between  # the last one has none
    written = _renamed(text, old, new)
    if not between.strip() and "\n" in text.rstrip() and not between.endswith("\n"):
        between = between.rstrip(" \t") + lines.indent_of(source.text[lines.start_of(source.text, start) :])
    return Edit.insertion(end, between + (written.rstrip("\n") if "\n" in between else written))


def _branched(
    source: ParsedText, found: Sequence[ConditionalBranch], old: str, new: str, names: Sequence[str]
) -> Edit | None:
    """Return the insertion of a branch like that of another variant, after it; None if too few others have one."""
    model = next((branch for branch in found if compares(source, branch, old)), None)
    if model is None or any(compares(source, branch, new) for branch in found):
        return None
    form, between = compares(source, model, old), joint(source, found)
    others = [name for name in names if any(compares(source, branch, name) == form for branch in found)]
    start, end = model.condition[0], model.body[1]
    if len(others) < LEAST_OTHERS or not between or end - start > MOST_CHARS:
        return None
    return Edit.insertion(end, between + _renamed(source.text[start:end], old, new))


def _renamed(text: str, old: str, new: str) -> str:
    """Return a case with another variant's name, also in lower and upper case; a literal only as it is."""
    if not old.isidentifier():
        return text.replace(old, new)
    pairs = {old: new, old.lower(): new.lower(), old.upper(): new.upper()}
    return re.sub(r"\w+", lambda word: pairs.get(word.group(), word.group()), text)
