"""The parameters of a method were changed in an interface or a base class: propose those of its implementations.

interface Shop { int price(int id, int day); }      and so     public int price(int id, int day) { … }
"""

from collections.abc import Iterator

from tree_sitter import Node

from infill_engine.edits.changes import Shift, between
from infill_engine.edits.constructs.signatures import list_after
from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.parsed_text import ParsedText, ancestors, enclosing, innermost
from infill_engine.edits.resolution.names import Names, declares_class
from infill_engine.edits.resolution.occurrence import Occurrence, Role
from infill_engine.edits.types import Kind, Proposal, counted

CONFIDENCE = 0.85
MOST_METHODS = 12


def propose_implementations(edit: ParsedEdit, other: ParsedText | None = None) -> Iterator[Proposal]:
    """Yield a proposal for each method of a class whose parameters the changes touch, for the edited text or another
    one."""
    target, shift = (edit.before, edit.shift) if other is None else (other, Shift(()))
    touched = (edit.before.node_at(change.start, change.end) for change in edit.changes)
    lists = (innermost(node, edit.syntax.parameter_lists) for node in touched)
    for holder in {one.id: one for one in lists if one is not None}.values():
        yield from _proposals(edit, holder, target, shift)


def _proposals(edit: ParsedEdit, holder: Node, target: ParsedText, shift: Shift) -> Iterator[Proposal]:
    source, now = edit.before, list_after(edit, holder)
    old, new = source.text_of(holder), "" if now is None else edit.after.text_of(now)
    lists = [] if not new or new == old else list(dict.fromkeys(_others(source, holder, target)))
    same = [one for one in lists if target.text_of(one) == old]
    edits = []
    for one in same:
        start = target.start_of(one)
        for change in between(old, new):
            made = target.replacing(shift, start + change.start, start + change.end, change.new)
            if made is None:
                return
            edits.append(made)
    if edits and len(same) <= MOST_METHODS:
        differ = len(lists) - len(same)
        label = f"change the parameters of {counted(len(same), 'other definition')}"
        label += f", {differ} with other parameters remain{'s' if differ == 1 else ''}" if differ else ""
        yield Proposal(tuple(sorted(edits)), label, CONFIDENCE, Kind.SIGNATURE)


def _others(source: ParsedText, holder: Node, target: ParsedText) -> Iterator[Node]:
    """Yield the parameters of the methods that override or implement the one with these parameters."""
    name = _name_of(holder)
    start, end = (0, 0) if name is None else source.span_of(name)
    if source.text[start:end] in source.syntax.constructors:
        return  # each class is made with parameters of its own
    names = Names.of(source, source.text[start:end])
    defined = names.at(start)
    if names.opaque or defined is None or defined.owner is None or defined.role is not Role.DEFINITION:
        return
    if source.syntax.prototypes and target is source:
        defining = names.owned(defined.owner, Role.DEFINITION)
        if sum(enclosing(one.node, source.syntax.functions) is not None for one in defining) < 2:
            yield from (listed for one in defining if (listed := _list_around(one)) not in (None, holder))
    own = names.class_around(defined)
    if own is None or not names.scopes[defined.owner.scope].is_class:
        return
    others = names if target is source else Names.of(target, names.name)
    if others.opaque or (target is not source and declares_class(target, own)):
        return
    for one in others.owned(defined.owner, Role.DEFINITION) if others is names else others.all:
        other = others.class_around(one) if one.role is Role.DEFINITION else None
        if other is not None and own.names != other.names and set(own.names) & set(other.bases):
            listed = _list_around(one)
            if listed is not None:
                yield listed


def _name_of(holder: Node) -> Node | None:
    above = holder.parent
    name = None if above is None else above.child_by_field_name("name") or above.child_by_field_name("declarator")
    return None if name is None else name.child_by_field_name("name") or name  # without its class


def _list_around(one: Occurrence) -> Node | None:
    """Return the parameters of the function that an occurrence names."""
    near = (node.child_by_field_name("parameters") for node in list(ancestors(one.node))[:2])
    return next((listed for listed in near if listed is not None), None)
