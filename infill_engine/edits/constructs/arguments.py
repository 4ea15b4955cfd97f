"""Insert and remove the arguments of a call, match them with their parameters, and find values for new ones."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from infill_engine.edits.constructs.calls import Call
from infill_engine.edits.constructs.parameters import Argument, Parameter, Passing, arguments_of
from infill_engine.edits.parsed_text import ParsedText, ancestors, enclosing
from infill_engine.edits.resolution.names import Names
from infill_engine.edits.resolution.occurrence import Occurrence, Role
from infill_engine.edits.types import Change

# the confidence of a proposal that passes values: every place sees one, or some do not
ADDED_KNOWN, ADDED_UNKNOWN = 0.75, 0.52
_WRITES = re.compile(r"assignment|update_expression|named_expression")  # in the type of a node


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call with its arguments and the span of their list, brackets included, in characters."""

    source: ParsedText
    call: Call
    arguments: tuple[Argument, ...]
    start: int
    end: int

    @classmethod
    def of(cls, source: ParsedText, call: Call) -> "CallSite | None":
        """Return the site of a call; None if its arguments are broken or not a list."""
        arguments = arguments_of(source, call.arguments)
        return None if arguments is None else cls(source, call, arguments, *source.span_of(call.arguments))

    @property
    def by_position(self) -> list[Argument]:
        """The arguments that have no name."""
        return [argument for argument in self.arguments if not argument.name]


def insert(site: CallSite, index: int, text: str) -> Change:
    """Return the change that inserts `text` as the argument at `index`, separated as the others are."""
    source, arguments = site.source, site.arguments
    if not arguments:
        return Change(site.start + 1, site.start + 1, text)
    gaps = (source.text[one.end : other.start] for one, other in pairwise(arguments))
    between = next((gap for gap in gaps if re.fullmatch(r",\s*", gap)), "")
    if not between:
        lead = source.text[site.start + 1 : arguments[0].start]
        between = "," + lead if "\n" in lead and not lead.strip() else ", "
    if index < len(arguments):
        return Change(arguments[index].start, arguments[index].start, text + between)
    return Change(arguments[-1].end, arguments[-1].end, between + text)


def cut(site: CallSite, kept: Sequence[Argument]) -> list[Change]:
    """Return the changes that remove all arguments but `kept`, with their commas."""
    arguments = site.arguments
    if not kept and arguments:
        return [Change(site.start + 1, site.end - 1, "")]
    cuts = []
    for index, argument in enumerate(arguments):
        if argument not in kept:
            later = any(other in kept for other in arguments[index + 1 :])
            # up to the next argument, or else from the end of the one before
            span = (argument.start, arguments[index + 1].start) if later else (arguments[index - 1].end, argument.end)
            cuts.append(Change(*span, ""))
    return cuts


def passed_to(parameters: Sequence[Parameter], site: CallSite) -> list[str] | None:
    """Return the name of each argument's parameter; "" if a rest parameter takes it; None if unsure."""
    positional = [p for p in parameters[site.call.implicit :] if p.passing is Passing.ANY]
    rest = any(p.passing is Passing.REST for p in parameters)
    known = {p.name for p in parameters}
    passed, at = [], 0
    for argument in site.arguments:
        if argument.splat:
            return None
        if argument.name:
            if argument.name not in known and not rest:
                return None
            passed.append(argument.name if argument.name in known else "")
        elif at < len(positional):
            passed.append(positional[at].name)
            at += 1
        elif rest:
            passed.append("")
        else:
            return None
    return passed


def writes(site: CallSite, argument: Argument) -> bool:
    """Return whether an argument sets a variable, which a call without it would not do."""
    waiting = [argument.node]
    while waiting:
        node = waiting.pop()
        if _WRITES.search(node.type):
            return True
        waiting += [child for child in node.named_children if child.type not in site.source.syntax.functions]
    return False


class ValuesInSight:
    """Finds a value for a new parameter at a call: a variable or member of the same name."""

    def __init__(self, source: ParsedText, name: str) -> None:
        self._source, self._name = source, name
        self._names = Names.of(source, name)

    def at(self, call: Call) -> str | None:
        """Return a variable in scope at the call, or a member of its object; None if there is neither."""
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
                sigil = self._source.text[variable.start - 1 : variable.start]
                return (sigil if sigil in syntax.sigils else "") + self._name
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
