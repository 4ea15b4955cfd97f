"""The parameters of a method were changed in an interface or a base class: propose those of its implementations.

interface Shop { int price(int id, int day); }      and so     public int price(int id, int day) { … }
"""

from collections.abc import Iterator

from tree_sitter import Node

from infill_engine.edits.changes import Shift, between
from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.parsed_text import ParsedText, ancestors, enclosing
from infill_engine.edits.resolution.names import Names, declares_class
from infill_engine.edits.resolution.occurrence import Occurrence, Role
from infill_engine.edits.types import Edit, Kind, Proposal, Span

CONFIDENCE = 0.85
MOST_METHODS = 12


def propose_implementations(edit: ParsedEdit) -> list[Proposal]:
    """Return a proposal for each method of a class whose parameters the changes touch."""
    return implementations_in(edit.before, edit, edit.shift)


def implementations_in(target: ParsedText, edit: ParsedEdit, shift: Shift) -> list[Proposal]:
    """Return the proposals for a text: the one before the edit, or another one. `shift` leads to what it is now."""
    found: dict[int, Proposal] = {}
    for change in edit.changes:
        node = edit.before.node_at(change.start, change.end)
        holder = node if node.type in edit.syntax.parameter_lists else enclosing(node, edit.syntax.parameter_lists)
        if holder is not None and holder.id not in found:
            found.update((holder.id, proposal) for proposal in _proposals(edit, holder, target, shift))
    return list(found.values())


def _proposals(edit: ParsedEdit, holder: Node, target: ParsedText, shift: Shift) -> Iterator[Proposal]:
    source, now = edit.before, _list_after(edit, holder)
    old, new = source.text_of(holder), "" if now is None else edit.after.text_of(now)
    lists = [] if not new or new == old else list(dict.fromkeys(_others(source, holder, target)))
    alike = [one for one in lists if target.text_of(one) == old]
    edits = []
    for one in alike:
        start = target.to_char(one.start_byte)
        for change in between(old, new):
            place = shift.span(start + change.start, start + change.end)
            if place is None:
                return
            edits.append(Edit(Span(*place, old[change.start : change.end]), change.new))
    if edits and len(alike) <= MOST_METHODS:
        count, differ = len(alike), len(lists) - len(alike)
        label = f"change the parameters of {count} other definition{'s' if count > 1 else ''}"
        label += f", {differ} with other parameters remain{'s' if differ == 1 else ''}" if differ else ""
        yield Proposal(tuple(sorted(edits)), label, CONFIDENCE, Kind.SIGNATURE)


def _list_after(edit: ParsedEdit, holder: Node) -> Node | None:
    """Return a list of parameters in the text after the changes."""
    at = edit.shift.offset(edit.before.to_char(holder.start_byte))
    node = edit.after.node_at(at, at + 1)
    around = (one for one in (node, *ancestors(node)) if one.type == holder.type)
    return next((one for one in around if edit.after.to_char(one.start_byte) == at and not one.has_error), None)


def _others(source: ParsedText, holder: Node, target: ParsedText) -> Iterator[Node]:
    """Yield the parameters of the methods that override or implement the one with these parameters."""
    name = _name_of(holder)
    start, end = (0, 0) if name is None else source.span_of(name)
    if source.text[start:end] in source.syntax.constructors:
        return  # each class is made with parameters of its own
    names = Names.of(source, source.text[start:end])
    defined = None if names is None else names.at(start)
    if names is None or names.opaque or defined is None or defined.owner is None or defined.role is not Role.DEFINITION:
        return
    if source.syntax.prototypes and target is source:
        same = names.owned(defined.owner, Role.DEFINITION)
        if sum(enclosing(one.node, source.syntax.functions) is not None for one in same) < 2:
            yield from (listed for one in same if (listed := _list_around(one)) not in (None, holder))
    own = names.class_around(defined)
    if own is None or not names.scopes[defined.owner.scope].is_class:
        return
    others = names if target is source else Names.of(target, names.name)
    if others is None or others.opaque or (target is not source and declares_class(target, own)):
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
