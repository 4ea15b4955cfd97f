"""A parameter was added, removed or moved: propose the calls in this file."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from infill_engine.edits.arguments import CallSite, Replacement, cut, insert, passed_to, writes
from infill_engine.edits.calls import Call, calls_of
from infill_engine.edits.changes import Shift, inserted
from infill_engine.edits.documentation import is_typed_above
from infill_engine.edits.occurrence import Occurrence, Role
from infill_engine.edits.parameters import (
    Parameter,
    Passing,
    arguments_of,
    fields_of,
    parameter_list_of,
    parameters_of,
)
from infill_engine.edits.parsed import ParsedEdit
from infill_engine.edits.scopes import Names
from infill_engine.edits.source import Source, ancestors, enclosing
from infill_engine.edits.types import Edit, Kind, Proposal, Span

REMOVED, MOVED = 0.93, 0.9
ADDED_KNOWN = 0.75  # every call can see a variable with the parameter's name
ADDED_UNKNOWN = 0.52  # the place is certain, the value is not
UNCERTAIN = 0.75  # factor with calls on objects of unknown class
MOST_CALLS = 60


@dataclass(frozen=True, slots=True)
class Signature:
    """A function whose parameters the user has changed."""

    function: Node  # in the text before
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
        node = before.node_at(change.start, change.end)
        holder = node if node.type in syntax.parameter_lists else enclosing(node, syntax.parameter_lists)
        function = None if holder is None else enclosing(holder, syntax.functions | syntax.heads)
        if function is None or parameter_list_of(syntax, function) != holder or function.id in seen:
            continue
        seen.add(function.id)
        if is_typed_above(before, function):
            continue
        now = _same_function(edit, function)
        old = parameters_of(before, function)
        new = None if now is None else parameters_of(after, now)
        if old is not None and new is not None and old != new:
            yield Signature(function, old, new)
    yield from _changed_fields(edit)


def _changed_fields(edit: ParsedEdit) -> Iterator[Signature]:
    """Yield the data classes whose fields the changes touch. A field is a parameter of the constructor."""
    seen = set()
    for change, _, end in inserted(edit.changes):
        at = end - len(change.new.lstrip())
        node = edit.after.node_at(at, at)
        around = enclosing(node, ("call",)), enclosing(node, ("class_definition",))
        makers = (one for one in around if one is not None)
        now = next((one for made in makers if (one := _named(made)) is not None), None)
        name = None if now is None else now.child_by_field_name("name") or now.child_by_field_name("left")
        place = None if name is None else edit.back(*edit.after.span_of(name))
        holder = None if place is None else edit.before.node_at(*place).parent
        if now is None or holder is None or holder.type != now.type or holder.id in seen:
            continue
        seen.add(holder.id)
        old, new = fields_of(edit.before, holder), fields_of(edit.after, now)
        if old is not None and new is not None and old != new:
            yield Signature(holder, old, new)


def _named(made: Node) -> Node | None:
    """Return a class, or the assignment of one that a call makes."""
    above = made.parent if made.type == "call" else made
    return above if above is not None and above.type in ("assignment", made.type) else None


def propose_calls(edit: ParsedEdit) -> list[Proposal]:
    """Return a proposal for the calls of each function with changed parameters."""
    before, shift = edit.before, edit.shift
    found: list[Proposal] = []
    for signature in edit.once(changed_signatures):
        if signature.removed and not signature.added:
            found += _update(before, signature, shift, _without, REMOVED, "update {} call{}")
        elif signature.added and not signature.removed:
            found += _additions(before, signature, shift)
        elif not signature.added and _order(signature.before) != _order(signature.after):
            found += _update(before, signature, shift, _reordered, MOVED, "reorder arguments of {} call{}")
    return found


Rewrite = Callable[[Source, Signature, CallSite], list[Replacement] | None]  # None: this call cannot be followed


def _update(
    source: Source,
    signature: Signature,
    shift: Shift,
    rewrite: Rewrite,
    confidence: float,
    label: str,
) -> Iterator[Proposal]:
    """Yield the rewritten calls: first the certain ones, then also those on other objects."""
    calls = calls_of(source, signature.function)
    if len(calls) > MOST_CALLS:
        return
    edits: list[Edit] = []
    more: list[Edit] = []
    count = loose = 0
    for call in calls:
        arguments = arguments_of(source, call.arguments)
        site = None if arguments is None else CallSite(call, arguments, *source.span_of(call.arguments))
        replaced = None if site is None else rewrite(source, signature, site)
        if replaced is None:
            if call.certain:
                return  # one call cannot be followed: all or none
            continue
        placed = [(shift.span(start, end), source.text[start:end], new) for start, end, new in replaced]
        if any(place is None for place, _, _ in placed):
            continue  # the user has edited this call already
        made = [Edit(Span(*place, old), new) for place, old, new in placed if place is not None and old != new]
        if call.certain:
            edits += made
            count += bool(made)
        more += made
        loose += bool(made)
    if edits:
        text = label.format(count, "s" if count > 1 else "")
        yield Proposal(tuple(sorted(edits)), text, confidence, Kind.SIGNATURE)
    if len(more) > len(edits):
        text = label.format(loose, "s" if loose > 1 else "") + ", on other objects too"
        yield Proposal(tuple(sorted(more)), text, confidence * UNCERTAIN, Kind.SIGNATURE)


def _without(source: Source, signature: Signature, site: CallSite) -> list[Replacement] | None:
    """Remove the arguments of removed parameters."""
    gone = {parameter.name for parameter in signature.removed}
    passed = passed_to(signature.before, site)
    if passed is None or any(parameter.passing is Passing.REST for parameter in signature.removed):
        return None
    kept = [argument for argument, name in zip(site.arguments, passed, strict=True) if name not in gone]
    if any(writes(source, argument) for argument in site.arguments if argument not in kept):
        return None
    return cut(site, kept)


def _reordered(_source: Source, signature: Signature, site: CallSite) -> list[Replacement] | None:
    """Put the positional arguments into the new order."""
    passed = passed_to(signature.before, site)
    if passed is None:
        return None
    arguments, implicit = site.arguments, site.call.implicit
    by_position = [argument for argument in arguments if not argument.name]
    values = {name: argument for argument, name in zip(arguments, passed, strict=True) if not argument.name}
    wanted = [parameter.name for parameter in signature.after[implicit:] if parameter.name in values]
    names = [parameter.name for parameter in signature.after[implicit:]]
    if names[: len(wanted)] != wanted or len(wanted) != len(by_position):
        return None  # an argument before them would be missing
    return [
        (argument.start, argument.end, values[name].text)
        for argument, name in zip(by_position, wanted, strict=True)
        if values[name] is not argument
    ]


def _additions(source: Source, signature: Signature, shift: Shift) -> Iterator[Proposal]:
    """Yield an argument for each new parameter that is required."""
    if len(signature.added) != 1 or signature.added[0].passing is Passing.REST:
        return
    parameter = signature.added[0]
    if parameter.optional and not _shifts_positions(signature):
        return
    others = tuple(p for p in signature.after if p.name != parameter.name)
    if _order(others) != _order(signature.before) or parameter.optional:
        return
    in_sight = ValuesInSight(source, parameter.name)
    known = True
    placeholder = f"${parameter.name}" if f"${parameter.name}" in parameter.text else parameter.name

    def with_argument(source: Source, signature: Signature, site: CallSite) -> list[Replacement] | None:
        nonlocal known
        value = in_sight.at(site.call)
        known = known and value is not None
        return _inserted(source, signature, site, parameter, value or placeholder)

    name = parameter.name
    for proposal in list(_update(source, signature, shift, with_argument, 1.0, f"pass {name} in {{}} call{{}}")):
        certain = ADDED_KNOWN if known else ADDED_UNKNOWN
        yield Proposal(proposal.edits, proposal.label, certain * proposal.confidence, Kind.SIGNATURE)


class ValuesInSight:
    """Finds a value for a new parameter at a call: a variable or member of the same name."""

    def __init__(self, source: Source, name: str) -> None:
        self._source, self._name = source, name
        self._names = Names.of(source, name)

    def at(self, call: Call) -> str | None:
        """Return a variable in scope at the call, or a member of its object; None if there is neither."""
        if self._names is None:
            return None
        syntax, around, in_function = self._source.syntax, list(ancestors(call.arguments)), False
        known: dict[int, list[Occurrence]] = {}
        for one in self._names.all:
            if one.owner is not None and one.role in (Role.DEFINITION, Role.MEMBER):
                known.setdefault(one.owner.scope, []).append(one)
        for node in around:
            in_function = in_function or node.type in syntax.functions
            members, variables = known.get(self._names.class_of(node), ()), known.get(node.id, ())
            variable = next((one for one in variables if self._is_before(one, call)), None)
            if variable is not None:
                return self._sigil(variable) + self._name
            if members and in_function and syntax.own_member:
                return syntax.own_member.format(name=self._name)
            if members:
                return self._name if not in_function or self._names.scopes[-node.id].kind == "open" else None
        return None

    def _is_before(self, one: Occurrence, call: Call) -> bool:
        """Return whether a variable has its value when a call is made, as far as one function tells."""
        functions = self._source.syntax.functions
        same = enclosing(one.node, functions) == enclosing(call.arguments, functions)
        return one.kind == "function" or not same or one.node.start_byte < call.arguments.start_byte

    def _sigil(self, one: Occurrence) -> str:
        before = self._source.text[one.start - 1 : one.start]
        return before if before in self._source.syntax.sigils else ""


def _inserted(
    source: Source, signature: Signature, site: CallSite, parameter: Parameter, value: str
) -> list[Replacement] | None:
    """Return the call with one more argument, by position if the others are, otherwise by name."""
    arguments = site.arguments
    if any(argument.name == parameter.name for argument in arguments):
        return []  # passed already
    at = [p.name for p in signature.after].index(parameter.name) - site.call.implicit
    by_position = [argument for argument in arguments if not argument.name]
    splats = [index for index, argument in enumerate(arguments) if argument.splat]
    named = parameter.passing is Passing.NAME or at > len(by_position) or (splats and at > splats[0])
    if at < 0 or splats or (named and not source.syntax.named_argument) or passed_to(signature.before, site) is None:
        return None
    text = source.syntax.named_argument.format(name=parameter.name, value=value) if named else value
    return insert(source, site, len(arguments) if named else at, text)


def _shifts_positions(signature: Signature) -> bool:
    """Return whether positional arguments would go to other parameters than before."""
    names = [p.name for p in signature.after]
    return names[: len(signature.before)] != [p.name for p in signature.before]


def _order(parameters: Sequence[Parameter]) -> list[str]:
    return [parameter.name for parameter in parameters]


def _same_function(edit: ParsedEdit, function: Node) -> Node | None:
    """Return the function in the text after the changes."""
    after, holder = edit.after, parameter_list_of(edit.syntax, function)
    if holder is None:
        return None
    at = edit.shift.offset(edit.before.to_char(holder.start_byte))
    node = after.node_at(at, at + 1)
    found = node if node.type == holder.type else enclosing(node, (holder.type,))
    if found is None or after.to_char(found.start_byte) != at:
        return None
    now = enclosing(found, edit.syntax.functions | edit.syntax.heads)
    return now if now is not None and now.type == function.type else None
