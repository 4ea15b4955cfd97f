"""Definitions of functions, types and constants. The language's record describes their first lines.

No syntax tree is needed, so this works for languages without a grammar and for files that do not parse.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from infill_engine.text.languages.record import Code
from infill_engine.text.lines import indent_of

SIGNATURE_LINES = 8  # a longer signature is cut
BODY_LINES = 4  # a longer body is left out
OWNER_LINES = 200  # lines above a member that are searched for its class
MEMBERS = 10  # members of a class, each shown by its first line
LONGEST_LINE = 200  # characters; longer lines are data
_QUALIFIER = re.compile(r"^.*[.:]")  # separators in a name, as in `Box.area` and `Box::area`
_BRACKETS = {"(": 1, "[": 1, ")": -1, "]": -1}


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition: its name, the text that shows how to use it, and whether it is a member."""

    name: str
    text: str
    member: bool


def name_defined(line: str, code: Code) -> str | None:
    """Return the name that a line defines, without its qualifier; None if the line begins no definition."""
    if len(line) > LONGEST_LINE:
        return None
    found = code.defined(line) or code.constant(line)
    return None if found is None else _QUALIFIER.sub("", found)


def definitions_in(lines: Sequence[str], first: int, last: int, code: Code) -> Iterator[Definition]:
    """Yield the definitions that begin in rows `first` (inclusive) to `last` (exclusive)."""
    for row in range(first, min(last, len(lines))):
        name = name_defined(lines[row], code)
        if name is not None:
            text = _text(lines, row, code)
            nested = lines[row][:1].isspace()
            owner = _owner(lines, row, code) if nested else ""
            member = nested or code.is_member(lines[row])
            yield Definition(name, f"{owner}\n{text}" if owner else text, member)


def _text(lines: Sequence[str], row: int, code: Code) -> str:
    """Return the definition's head with a short body, or with the first lines of its members."""
    head = [lines[row]]
    if code.defined(lines[row]) is None:
        return head[0]
    while _is_open(head) and len(head) < SIGNATURE_LINES and row + len(head) < len(lines):
        head.append(lines[row + len(head)])
    if row + len(head) < len(lines) and lines[row + len(head)].strip() == "{":
        head.append(lines[row + len(head)])
    depth = len(indent_of(lines[row]))
    if code.owners.match(lines[row]):
        return "\n".join([*head, *_members(lines, row + len(head), depth, code)])
    body = list(_block(lines, row + len(head), depth, BODY_LINES + 1))
    return "\n".join([*head, *body] if len(body) <= BODY_LINES else head)


def _is_open(head: Sequence[str]) -> bool:
    """Return whether the lines leave a bracket open."""
    return sum(_BRACKETS.get(character, 0) for line in head for character in line) > 0


def _owner(lines: Sequence[str], row: int, code: Code) -> str:
    """Return the first line of the class that a member belongs to; "" if there is none nearby."""
    depth = len(indent_of(lines[row]))
    for line in reversed(lines[max(row - OWNER_LINES, 0) : row]):
        if line.strip(" \t{") and len(indent_of(line)) < depth:
            return line if code.owners.match(line) else ""
    return ""


def _block(lines: Sequence[str], row: int, depth: int, most: int) -> Iterator[str]:
    """Yield the nonblank lines from `row` on that are indented deeper than `depth`."""
    for line in lines[row:]:
        if not line.strip():
            continue
        if len(indent_of(line)) <= depth or not most:
            return
        most -= 1
        yield line


def _members(lines: Sequence[str], row: int, depth: int, code: Code) -> list[str]:
    """Return the first lines of the members of a class: fields and methods."""
    found: list[str] = []
    inner: int | None = None
    for line in _block(lines, row, depth, OWNER_LINES):
        at = len(indent_of(line))
        inner = at if inner is None else inner
        member = at == inner and (name_defined(line, code) is not None or code.fields.match(line))
        if member and len(line) <= LONGEST_LINE:
            found.append(line)
        if len(found) == MEMBERS:
            break
    return found
