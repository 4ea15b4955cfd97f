"""A member that the file declares as a method without parameters is called: `b.width()` where `width` is one."""

import re
from collections.abc import Iterator
from functools import lru_cache

from infill_engine.text.languages import language as language_named
from infill_engine.text.lines import first_line, last_line
from infill_engine.types import Hole, InfillRequest

LONGEST_OPERATOR = 8  # characters, with the blanks before it
LOOKED_AT = 40_000  # characters on each side of the cursor
_MEMBER = re.compile(r"(?:\.|->)(\w+)\b(?!\s*\()")
_CALLED = re.compile(r"(?:\.|->)(\w+)\(\)")
_CALCULATES = re.compile(r"\s*(?:[*/%+<>-]|==|!=)(?![+-])")
_ASSIGNED = re.compile(r"\s*(?:[*/%+-]?=(?!=)|\+\+|--|\()")


def getters(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """Add the call that a text leaves out."""
    code = language_named(request.language).code
    left, right = last_line(request.prefix), first_line(request.suffix)
    line, end = left + text + right, len(left + text)
    members = [one for one in _MEMBER.finditer(line, 0, end) if one.end() > len(left)] if code.getters else []
    if not members:
        return text
    known = _declared(request.prefix[-LOOKED_AT:], request.suffix[:LOOKED_AT], request.language)
    beside = any(name in known for name in _CALLED.findall(line))
    written, at = "", 0
    for found in members:
        name, rest = _spelled(found[1], known), line[found.end() : found.end() + LONGEST_OPERATOR]
        if name not in known or rest[:1].isalnum() or _ASSIGNED.match(rest):
            continue
        if beside or not (known[name] or (code.method_values and not _CALCULATES.match(rest))):
            written += line[at : found.start(1)] + name + "()"
            at = found.end()
    return (written + line[at:end]).removeprefix(left) if written.startswith(left) or not written else text


def _spelled(name: str, known: dict[str, bool]) -> str:
    """Return the name as it is declared: `getWidth` if there is no `width`."""
    longer = f"get{name[:1].upper()}{name[1:]}"
    return longer if name not in known and longer in known else name


@lru_cache(maxsize=8)
def _declared(before: str, after: str, language: str) -> dict[str, bool]:
    """Return the methods without parameters, each with whether a field has the same name."""
    text = before + "\n" + after
    names = frozenset(_names(text, language))
    return {name: re.search(rf"(?<![.\w]){name}\s*(?:[;:]|=[^=])", text) is not None for name in names}


def _names(text: str, language: str) -> Iterator[str]:
    for pattern in language_named(language).code.getters:
        for found in pattern.finditer(text):
            yield from (part.split()[-1] for part in found[1].split(",") if part.split())
