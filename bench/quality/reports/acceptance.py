"""Whether a person would take a text for the original one.

Besides the original itself, that is a text which differs from it only in

- blanks, and the quotes around a string;
- the names of variables that it introduces and that nothing else in the file mentions;
- the order of the operands of `+`, `*`, `==`, `!=`, `|`, `&`, `^`, `and`, `or` and the like;

or which is the first whole lines of several.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from infill_engine.diagnostics.benchmark.problems.judging import is_exact, trimmed

_TOKEN = re.compile(
    r"""(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|(?P<name>[^\W\d]\w*)|(?P<number>\d[\w.]*)"""
    r"""|(?P<line>\n)|(?P<mark>:=|=>|->|==|!=|<=|>=|&&|\|\||[-+*/%|&^]=|::|\S)"""
)
# From the loosest to the tightest. `-` and `/` stay with the operand that they follow.
_COMMUTATIVE = (("or", "||"), ("and", "&&"), ("==",), ("!=",), ("|",), ("^",), ("&",), ("+",), ("*",))
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_KEYWORDS = "return if elif else while in is not let const var val for await yield assert throw raise lambda".split()
_SEPARATORS = frozenset((*", ; : = := += -= *= /= => -> ? \n < > <= >=".split(" "), *_KEYWORDS))
_BINDERS = frozenset("for let const var val auto as lambda foreach local my".split())
_BOUND = frozenset("= := in of =>".split())


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


def is_acceptable(text: str, gold: str, around: str) -> bool:
    """Return whether `text` is as good as `gold`. `around` is the rest of the document."""
    if is_exact(text, gold):
        return True
    lines, wanted = trimmed(text).count("\n"), trimmed(gold).split("\n")
    if lines + 1 < len(wanted):
        gold = "\n".join(wanted[: lines + 1])
        if is_exact(text, gold):
            return True
    ours, theirs = _tokens(text), _tokens(gold)
    if len(ours) != len(theirs):
        return False
    known = _names_in(around)
    return _ordered(_renamed(ours, known)) == _ordered(_renamed(theirs, known))


@lru_cache(maxsize=4)
def _names_in(text: str) -> frozenset[str]:
    return frozenset(token.text for token in _tokens(text))


def _tokens(text: str) -> list[_Token]:
    found = [_Token(str(match.lastgroup), match.group()) for match in _TOKEN.finditer(trimmed(text))]
    return [_Token("string", token.text[1:-1]) if token.kind == "string" else token for token in found]


def _renamed(tokens: Sequence[_Token], known: frozenset[str]) -> list[_Token]:
    """Return the tokens with numbers for the names that are introduced here, in their order."""
    numbers: dict[str, str] = {}
    depth = 0
    for at, token in enumerate(tokens):
        depth += (token.text in _BRACKETS) - (token.text in _BRACKETS.values())
        before, after = (tokens[one].text if 0 <= one < len(tokens) else "" for one in (at - 1, at + 1))
        bound = before in _BINDERS or (after in _BOUND and (not depth or after in ("in", "of", "=>")))
        if token.kind == "name" and token.text not in known and before not in (".", "->", "::") and bound:
            numbers.setdefault(token.text, f"new {len(numbers)}")
    return [_Token(token.kind, numbers.get(token.text, token.text)) for token in tokens]


def _ordered(tokens: Sequence[_Token]) -> str:
    """Return the tokens as one text, with commutative operands in the order of the alphabet."""
    parts: list[str] = []  # what is in brackets is one part
    at = 0
    while at < len(tokens):
        token = tokens[at]
        end = _closing(tokens, at) if token.kind == "mark" and token.text in _BRACKETS else None
        if end is None:
            parts.append(f"{token.text!r}" if token.kind == "string" else token.text)
            at += 1
        else:
            parts.append(f"{token.text} {_ordered(tokens[at + 1 : end])} {tokens[end].text}")
            at = end + 1
    return " ".join(_sorted(parts, (_SEPARATORS, *_COMMUTATIVE)))


def _closing(tokens: Sequence[_Token], at: int) -> int | None:
    depth = 0
    for number in range(at, len(tokens)):
        depth += (tokens[number].text in _BRACKETS) - (tokens[number].text in _BRACKETS.values())
        if not depth:
            return number
    return None


def _sorted(parts: Sequence[str], levels: Sequence[Sequence[str] | frozenset[str]]) -> list[str]:
    """Return the parts with the operands of each level in order; those of the first level keep their places."""
    if not levels:
        return list(parts)
    loosest, *tighter = levels
    operands: list[list[str]] = [[]]
    marks = []
    for part in parts:
        if part in loosest:
            marks.append(part)
            operands.append([])
        else:
            operands[-1].append(part)
    found = [" ".join(_sorted(operand, tighter)) for operand in operands]
    if len(levels) <= len(_COMMUTATIVE) and all(found):
        found.sort()
    return [part for pair in zip(found, [*marks, ""], strict=True) for part in pair if part]
