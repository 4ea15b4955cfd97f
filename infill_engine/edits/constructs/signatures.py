"""Functions whose parameters an edit has changed."""

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from infill_engine.edits.changes import inserted
from infill_engine.edits.constructs.documentation import is_typed_above
from infill_engine.edits.constructs.parameters import Parameter, fields_of, parameter_list_of, parameters_of
from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.parsed_text import enclosing, innermost


@dataclass(frozen=True, slots=True)
class Signature:
    """A function whose parameters the user has changed."""

    function: Node  # in the text before
    now: Node  # in the text after
    before: tuple[Parameter, ...]
    after: tuple[Parameter, ...]

    @property
    def added(self) -> list[Parameter]:
        """Parameters that are new."""
        old = {parameter.name for parameter in self.before}
        return [parameter for parameter in self.after if parameter.name not in old]

    @property
    def removed(self) -> list[Parameter]:
        """Parameters that are gone."""
        new = {parameter.name for parameter in self.after}
        return [parameter for parameter in self.before if parameter.name not in new]


def changed_signatures(edit: ParsedEdit) -> Iterator[Signature]:
    """Yield the functions whose parameters the changes touch."""
    before, after, syntax = edit.before, edit.after, edit.syntax
    seen = set()
    for change in edit.changes:
        holder = innermost(before.node_at(change.start, change.end), syntax.parameter_lists)
        function = None if holder is None else enclosing(holder, syntax.functions | syntax.heads)
        if function is None or parameter_list_of(syntax, function) != holder or function.id in seen:
            continue
        seen.add(function.id)
        if is_typed_above(before, function):
            continue
        listed = None if holder is None else list_after(edit, holder)
        now = None if listed is None else enclosing(listed, syntax.functions | syntax.heads)
        now = now if now is not None and now.type == function.type else None
        old = parameters_of(before, function)
        new = None if now is None else parameters_of(after, now)
        if now is not None and old is not None and new is not None and old != new:
            yield Signature(function, now, old, new)
    yield from _changed_fields(edit)


def _changed_fields(edit: ParsedEdit) -> Iterator[Signature]:
    """Yield the data classes whose fields the changes touch. A field is a parameter of the constructor."""
    seen = set()
    for change, _, end in inserted(edit.changes):
        at = end - len(change.new.lstrip())
        node = edit.after.node_at(at, at)
        call = enclosing(node, ("call",))
        made = None if call is None else call.parent  # an assignment makes a class, too
        now = made if made is not None and made.type == "assignment" else enclosing(node, ("class_definition",))
        name = None if now is None else now.child_by_field_name("name") or now.child_by_field_name("left")
        place = None if name is None else edit.back(*edit.after.span_of(name))
        holder = None if place is None else edit.before.node_at(*place).parent
        if now is None or holder is None or holder.type != now.type or holder.id in seen:
            continue
        seen.add(holder.id)
        old, new = fields_of(edit.before, holder), fields_of(edit.after, now)
        if old is not None and new is not None and old != new:
            yield Signature(holder, now, old, new)


def list_after(edit: ParsedEdit, holder: Node) -> Node | None:
    """Return a list of parameters in the text after the changes; None if it is broken."""
    at = edit.shift.offset(edit.before.start_of(holder))
    found = innermost(edit.after.node_at(at, at + 1), (holder.type,))
    while found is not None and (edit.after.start_of(found) != at or found.has_error):
        found = enclosing(found, (holder.type,))
    return found
