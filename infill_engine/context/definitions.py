"""Definitions of functions, classes and constants, found by the shape of their first lines.

No syntax tree is needed, so this works for languages without a grammar and for files that do not parse.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from infill_engine.text.lines import indent_of

SIGNATURE_LINES = 8  # a longer signature is cut
BODY_LINES = 4  # a longer body is left out
OWNER_LINES = 200  # above a member that are searched for its class
MEMBERS = 10  # of a class, each shown by its first line
LONGEST_LINE = 200  # characters; longer lines are data

_MODIFIER = (
    r"(?:export|default|pub(?:\([^)]*\))?|public|private|protected|internal|static|async|abstract|final|override"
    r"|unsafe|extern|inline|virtual|sealed|data|suspend|local)"
)
_WORDS = "def|class|func|fun|fn|function|sub|struct|interface|trait|enum|record|module|protocol"
_KEYWORD = re.compile(
    rf"[ \t]*(?:{_MODIFIER}[ \t]+)*(?P<word>{_WORDS})[ \t]+(?:\([^)]*\)[ \t]*)?(?:self\.)?(?P<name>\w+)"
)
_TYPED = re.compile(  # `static int name(…) {`, as in C and its descendants
    r"[ \t]*(?!(?:return|else|new|throw|await|if|for|while|switch|case|catch|do)\b)"
    r"(?:[\w:<>,\[\]*&?.]+[ \t]+)+[*&]*(?P<name>\w+)\([^;\n]*\{[ \t]*$"
)
_CONSTANT = re.compile(r"(?:export[ \t]+)?(?:const[ \t]+)?(?P<name>[A-Z][A-Z0-9_]{2,})\b[^=\n(]*=(?!=)")
_HOLDS_MEMBERS = frozenset("class struct interface trait enum record module protocol".split())
_END_OF_HEAD = (":", "{", ";", ")")


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition's name, the text that shows how it is used, and whether it is a member of something."""

    name: str
    text: str
    member: bool


def name_defined(line: str) -> str | None:
    """The name that a line defines, if it begins a definition."""
    found = _match(line)
    return None if found is None else found["name"]


def definitions_in(lines: Sequence[str], first: int, last: int) -> Iterator[Definition]:
    """The definitions that begin in rows `first` (inclusive) to `last` (exclusive)."""
    for row in range(first, min(last, len(lines))):
        found = _match(lines[row])
        if found is not None:
            text, member = _text(lines, row, found.groupdict().get("word")), lines[row][:1].isspace()
            owner = _owner(lines, row) if member else ""
            yield Definition(found["name"], f"{owner}\n{text}" if owner else text, member)


def _match(line: str) -> re.Match[str] | None:
    if len(line) > LONGEST_LINE:
        return None
    return _KEYWORD.match(line) or _CONSTANT.match(line) or _TYPED.match(line)


def _text(lines: Sequence[str], row: int, word: str | None) -> str:
    head = list(lines[row : row + 1])
    if word is None and not head[0].rstrip().endswith("{"):
        return head[0]
    while not head[-1].rstrip().endswith(_END_OF_HEAD) and len(head) < SIGNATURE_LINES and row + len(head) < len(lines):
        head.append(lines[row + len(head)])
    depth = len(indent_of(lines[row]))
    if word in _HOLDS_MEMBERS:
        return "\n".join([*head, *_members(lines, row + len(head), depth)])
    body = list(_block(lines, row + len(head), depth, BODY_LINES + 1))
    return "\n".join([*head, *body] if len(body) <= BODY_LINES else head)


def _owner(lines: Sequence[str], row: int) -> str:
    """The first line of the class that a member belongs to; "" if there is none nearby."""
    depth = len(indent_of(lines[row]))
    for line in reversed(lines[max(row - OWNER_LINES, 0) : row]):
        if line.strip() and len(indent_of(line)) < depth:
            found = _KEYWORD.match(line)
            return line if found is not None and found["word"] in _HOLDS_MEMBERS else ""
    return ""


def _block(lines: Sequence[str], row: int, depth: int, most: int) -> Iterator[str]:
    """The lines from `row` on that are indented deeper than `depth`, without blank ones."""
    for line in lines[row:]:
        if not line.strip():
            continue
        if len(indent_of(line)) <= depth or not most:
            return
        most -= 1
        yield line


def _members(lines: Sequence[str], row: int, depth: int) -> list[str]:
    """The first lines of the members of a class: fields and methods."""
    found: list[str] = []
    inner: int | None = None
    for line in _block(lines, row, depth, OWNER_LINES):
        at = len(indent_of(line))
        inner = at if inner is None else inner
        member = at == inner and (_match(line) is not None or re.match(r"[ \t]*\w+[ \t]*[:=]", line))
        if member and len(line) <= LONGEST_LINE:
            found.append(line)
        if len(found) == MEMBERS:
            break
    return found
