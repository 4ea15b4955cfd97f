"""A field and the constructor that sets it: a new parameter gets a field, a new field a parameter."""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from tree_sitter import Node

from infill_engine.edits.changes import inserted
from infill_engine.edits.constructs.constructors import FieldAssignment, beside, field_assignments, is_constructor
from infill_engine.edits.constructs.parameters import parameter_list_of, parameters_of
from infill_engine.edits.constructs.signatures import changed_signatures
from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.parsed_text import ParsedText, innermost
from infill_engine.edits.resolution.names import Names
from infill_engine.edits.resolution.occurrence import Role
from infill_engine.edits.types import Edit, Kind, Proposal

KEPT = 0.85  # all other parameters are stored in fields
SOME_KEPT = 0.7  # only some of them are
PASSED = 0.6  # a field is set from a name that is not a parameter yet


def propose_fields(edit: ParsedEdit) -> list[Proposal]:
    """Propose a line that stores a new parameter of a constructor, and a parameter for a new line there."""
    return [*_kept_parameters(edit), *_passed_fields(edit)]


def _kept_parameters(edit: ParsedEdit) -> Iterator[Proposal]:
    before, after, syntax, shift = edit.before, edit.after, edit.syntax, edit.shift
    for signature in edit.once(changed_signatures):
        if signature.removed or len(signature.added) != 1 or not is_constructor(before, signature.function):
            continue
        added = signature.added[0]
        settings = field_assignments(before, signature.function)
        own = [parameter.name for parameter in signature.before]
        stored = [setting for setting in settings if setting.value == setting.field and setting.value in own]
        if not stored or _is_used(after, signature.now, added.name):
            continue
        names = [parameter.name for parameter in signature.after]
        above = [s for s in stored if names.index(s.value) < names.index(added.name)] if added.name in names else stored
        model = above[-1] if above else stored[0]
        line = model.like(added.name, _annotation(added.text))
        place = beside(before, model, line, shift, below=bool(above))
        if place is not None:
            explicit = int(syntax.explicit_self)
            sure = KEPT if len(stored) >= len(own) - explicit else SOME_KEPT
            yield Proposal((place,), f"keep {added.name} in a field", sure, Kind.FIELD)


def _passed_fields(edit: ParsedEdit) -> Iterator[Proposal]:
    after, syntax = edit.after, edit.syntax
    for change, start, end in inserted(edit.changes):
        node = after.node_at(end - len(change.new.lstrip()), start + len(change.new.rstrip()))
        function = innermost(node, syntax.functions)
        parameters = None if function is None else parameters_of(after, function)
        if function is None or parameters is None or not is_constructor(after, function):
            continue
        own, settings = [parameter.name for parameter in parameters], field_assignments(after, function)
        fresh = [s for s in settings if s.start < end and start < s.end and s.value == s.field and s.value not in own]
        siblings = [s for s in settings if s.value in own and s.value == s.field]
        if len(fresh) != 1 or not siblings or _has_name(edit.before, fresh[0].value):
            continue
        place = _new_parameter(after, function, fresh[0].value, settings, own)
        if place is not None:
            yield Proposal((place,), f"add {fresh[0].value} to the constructor", PASSED, Kind.FIELD)


def _annotation(parameter: str) -> str:
    found = re.match(r"[\w?]+\s*:\s*([^=]+)", parameter)
    return found.group(1).strip() if found else ""


def _is_used(source: ParsedText, function: Node, name: str) -> bool:
    """Return whether a constructor's body contains a name."""
    body = function.child_by_field_name("body")
    start, end = (0, 0) if body is None else source.span_of(body)
    uses = (one for one in Names.of(source, name).all if one.role in (Role.REFERENCE, Role.MEMBER))
    return body is None or any(start <= one.start < end for one in uses)


def _has_name(source: ParsedText, name: str) -> bool:
    """Return whether the text already has the name, for a variable or for anything else."""
    return re.search(rf"(?<![\w.$]){re.escape(name)}(?![\w$])", source.text) is not None


def _new_parameter(
    after: ParsedText, function: Node, name: str, settings: Sequence[FieldAssignment], own: Sequence[str]
) -> Edit | None:
    """Insert `name` after the parameter of the field above: before optional parameters, or at the end."""
    holder, explicit = parameter_list_of(after.syntax, function), after.syntax.explicit_self
    earlier = takewhile(lambda setting: setting.value != name, settings)
    above = [one.value for one in earlier if one.value in own and one.value == one.field]
    nodes = [] if holder is None else [node for node in holder.named_children if node.type != "comment"]
    index = own.index(above[-1]) if above else int(explicit) - 1
    if len(nodes) != len(own) or not 0 <= index < len(nodes):
        return None
    if explicit and nodes[index].type in after.syntax.defaults:
        return None  # a parameter after one with a default needs a default
    return Edit.insertion(after.span_of(nodes[index])[1], f", {name}")
