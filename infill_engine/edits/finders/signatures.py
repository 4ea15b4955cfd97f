"""A parameter was added, removed or moved: propose the calls in this file."""

from collections.abc import Callable, Iterator, Sequence

from infill_engine.edits.changes import Shift
from infill_engine.edits.constructs.arguments import CallSite, Replacement, cut, insert, passed_to, writes
from infill_engine.edits.constructs.calls import calls_of
from infill_engine.edits.constructs.parameters import (
    Parameter,
    Passing,
    arguments_of,
)
from infill_engine.edits.constructs.signatures import Signature, changed_signatures
from infill_engine.edits.constructs.values import ADDED_KNOWN, ADDED_UNKNOWN, ValuesInSight
from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.parsed_text import ParsedText
from infill_engine.edits.types import Edit, Kind, Proposal, Span

REMOVED, MOVED = 0.93, 0.9
UNCERTAIN = 0.75  # factor with calls on objects of unknown class
MOST_CALLS = 60


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


Rewrite = Callable[[ParsedText, Signature, CallSite], list[Replacement] | None]  # None: this call cannot be followed


def _update(
    source: ParsedText,
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


def _without(source: ParsedText, signature: Signature, site: CallSite) -> list[Replacement] | None:
    """Remove the arguments of removed parameters."""
    gone = {parameter.name for parameter in signature.removed}
    passed = passed_to(signature.before, site)
    if passed is None or any(parameter.passing is Passing.REST for parameter in signature.removed):
        return None
    kept = [argument for argument, name in zip(site.arguments, passed, strict=True) if name not in gone]
    if any(writes(source, argument) for argument in site.arguments if argument not in kept):
        return None
    return cut(site, kept)


def _reordered(_source: ParsedText, signature: Signature, site: CallSite) -> list[Replacement] | None:
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


def _additions(source: ParsedText, signature: Signature, shift: Shift) -> Iterator[Proposal]:
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

    def with_argument(source: ParsedText, signature: Signature, site: CallSite) -> list[Replacement] | None:
        nonlocal known
        value = in_sight.at(site.call)
        known = known and value is not None
        return _inserted(source, signature, site, parameter, value or placeholder)

    name = parameter.name
    for proposal in list(_update(source, signature, shift, with_argument, 1.0, f"pass {name} in {{}} call{{}}")):
        certain = ADDED_KNOWN if known else ADDED_UNKNOWN
        yield Proposal(proposal.edits, proposal.label, certain * proposal.confidence, Kind.SIGNATURE)


def _inserted(
    source: ParsedText, signature: Signature, site: CallSite, parameter: Parameter, value: str
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
