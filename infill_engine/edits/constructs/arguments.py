"""Insert and remove the arguments of a call, and match them with their parameters."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from infill_engine.edits.constructs.calls import Call
from infill_engine.edits.constructs.parameters import Argument, Parameter, Passing
from infill_engine.edits.parsed_text import ParsedText

_WRITES = re.compile(r"assignment|update_expression|named_expression")  # in the type of a node

Replacement = tuple[int, int, str]  # start, end and new text, in characters of the text before


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call with its arguments and the span of their list, brackets included, in characters."""

    call: Call
    arguments: tuple[Argument, ...]
    start: int
    end: int


def insert(source: ParsedText, site: CallSite, index: int, text: str) -> list[Replacement]:
    """Return the change that inserts `text` as the argument at `index`, separated as the others are."""
    start, arguments = site.start, site.arguments
    if not arguments:
        return [(start + 1, start + 1, text)]
    between = ", "
    for one, other in pairwise(arguments):
        if re.fullmatch(r",\s*", source.text[one.end : other.start]):
            between = source.text[one.end : other.start]
            break
    else:
        lead = source.text[start + 1 : arguments[0].start]
        between = "," + lead if "\n" in lead and not lead.strip() else ", "
    if index < len(arguments):
        at = arguments[index].start
        return [(at, at, text + between)]
    at = arguments[-1].end
    return [(at, at, between + text)]


def cut(site: CallSite, kept: Sequence[Argument]) -> list[Replacement]:
    """Return the changes that remove all arguments but `kept`, with their commas."""
    arguments = site.arguments
    if not kept and arguments:
        return [(site.start + 1, site.end - 1, "")]
    cuts = []
    for index, argument in enumerate(arguments):
        if argument in kept:
            continue
        later = [other for other in arguments[index + 1 :] if other in kept]
        if later:  # up to the next argument
            cuts.append((argument.start, arguments[index + 1].start, ""))
        else:  # from the end of the one before
            cuts.append((arguments[index - 1].end, argument.end, ""))
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


def writes(source: ParsedText, argument: Argument) -> bool:
    """Return whether an argument sets a variable, which a call without it would not do."""
    waiting = [argument.node]
    while waiting:
        node = waiting.pop()
        if _WRITES.search(node.type):
            return True
        waiting += [child for child in node.named_children if child.type not in source.syntax.functions]
    return False
