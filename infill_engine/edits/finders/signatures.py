"""A parameter was added, removed or moved: propose the calls in this file."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from infill_engine.edits.constructs.arguments import (
    ADDED_KNOWN,
    ADDED_UNKNOWN,
    CallSite,
    ValuesInSight,
    cut,
    insert,
    passed_to,
    writes,
)
from infill_engine.edits.constructs.calls import calls_of
from infill_engine.edits.constructs.parameters import (
    Parameter,
    Passing,
)
from infill_engine.edits.constructs.signatures import Signature, changed_signatures
from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.types import Change, Edit, Kind, Proposal, counted

REMOVED, MOVED = 0.93, 0.9
UNCERTAIN = 0.75  # factor with calls on objects of unknown class
MOST_CALLS = 60


def propose_calls(edit: ParsedEdit) -> Iterator[Proposal]:
    """Yield a proposal for the calls of each function with changed parameters."""
    for signature in edit.once(changed_signatures):
        if signature.removed and not signature.added:
            yield from _update(edit, signature, _without, REMOVED, "update {}")
        elif signature.added and not signature.removed:
            yield from _additions(edit, signature)
        elif not signature.added and _order(signature.before) != _order(signature.after):
            yield from _update(edit, signature, _reordered, MOVED, "reorder arguments of {}")


Rewrite = Callable[[Signature, CallSite], list[Change] | None]  # None: this call cannot be followed


def _update(
    edit: ParsedEdit, signature: Signature, rewrite: Rewrite, confidence: float, label: str
) -> Iterator[Proposal]:
    """Yield the rewritten calls: first the certain ones, then also those on other objects."""
    calls = calls_of(edit.before, signature.function)
    if len(calls) > MOST_CALLS:
        return
    certain: list[list[Edit]] = []
    every: list[list[Edit]] = []
    for call in calls:
        site = CallSite.of(edit.before, call)
        changes = None if site is None else rewrite(signature, site)
        if changes is None:
            if call.certain:
                return  # one call cannot be followed: all or none
            continue
        moved = [edit.replacing(one.start, one.end, one.new) for one in changes]
        made = [one for one in moved if one is not None and one.new != one.span.text]
        if made and None not in moved:  # the user has not edited this call already
            every.append(made)
            certain += [made] * call.certain
    if certain:
        text = label.format(counted(len(certain), "call"))
        yield Proposal(tuple(chain(*certain)), text, confidence, Kind.SIGNATURE)
    if len(every) > len(certain):
        text = label.format(counted(len(every), "call")) + ", on other objects too"
        yield Proposal(tuple(chain(*every)), text, confidence * UNCERTAIN, Kind.SIGNATURE)


def _without(signature: Signature, site: CallSite) -> list[Change] | None:
    """Remove the arguments of removed parameters."""
    gone = {parameter.name for parameter in signature.removed}
    passed = passed_to(signature.before, site)
    if passed is None or any(parameter.passing is Passing.REST for parameter in signature.removed):
        return None
    kept = [argument for argument, name in zip(site.arguments, passed, strict=True) if name not in gone]
    if any(writes(site, argument) for argument in site.arguments if argument not in kept):
        return None
    return cut(site, kept)


def _reordered(signature: Signature, site: CallSite) -> list[Change] | None:
    """Put the positional arguments into the new order."""
    passed = passed_to(signature.before, site)
    if passed is None:
        return None
    values = {name: argument for argument, name in zip(site.arguments, passed, strict=True) if not argument.name}
    names = _order(signature.after[site.call.implicit :])
    wanted = [name for name in names if name in values]
    if names[: len(wanted)] != wanted or len(wanted) != len(site.by_position):
        return None  # an argument before them would be missing
    pairs = zip(site.by_position, (values[name] for name in wanted), strict=True)
    return [Change(one.start, one.end, value.text) for one, value in pairs if value is not one]


def _additions(edit: ParsedEdit, signature: Signature) -> Iterator[Proposal]:
    """Yield an argument for each new parameter that is required."""
    parameter, *more = signature.added
    others = tuple(p for p in signature.after if p.name != parameter.name)
    if more or parameter.passing is Passing.REST or parameter.optional or _order(others) != _order(signature.before):
        return
    name, in_sight, known = parameter.name, ValuesInSight(edit.before, parameter.name), True
    placeholder = f"${name}" if f"${name}" in parameter.text else name

    def with_argument(signature: Signature, site: CallSite) -> list[Change] | None:
        nonlocal known
        value = in_sight.at(site.call)
        known = known and value is not None
        return _inserted(signature, site, parameter, value or placeholder)

    for proposal in list(_update(edit, signature, with_argument, 1.0, f"pass {name} in {{}}")):
        certain = ADDED_KNOWN if known else ADDED_UNKNOWN
        yield replace(proposal, confidence=certain * proposal.confidence)


def _inserted(signature: Signature, site: CallSite, parameter: Parameter, value: str) -> list[Change] | None:
    """Return the call with one more argument, by position if the others are, otherwise by name."""
    arguments, named_argument = site.arguments, site.source.syntax.named_argument
    if any(argument.name == parameter.name for argument in arguments):
        return []  # passed already
    at = _order(signature.after).index(parameter.name) - site.call.implicit
    splats = any(argument.splat for argument in arguments)
    named = parameter.passing is Passing.NAME or at > len(site.by_position)
    if at < 0 or splats or (named and not named_argument) or passed_to(signature.before, site) is None:
        return None
    text = named_argument.format(name=parameter.name, value=value) if named else value
    return [insert(site, len(arguments) if named else at, text)]


def _order(parameters: Sequence[Parameter]) -> list[str]:
    return [parameter.name for parameter in parameters]
