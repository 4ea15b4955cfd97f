"""Variants of a broken line: one token is inserted, removed or replaced.

The costs only order the variants. A cost below 1 means that the line itself shows what is missing. From 2 to 5, the
token would make sense there. Anything above is a guess.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from infill_engine.text import delimiters
from infill_engine.text.broken_line import (
    QUOTES,
    Line,
    begins_operand,
    body_words,
    ends_operand,
    keywords_of,
    tokens_of,
)
from infill_engine.text.delimiters import CLOSING, PAIRS, unclosed

LEAST_SPELLED = 3  # letters of a word that may be a misspelled keyword

_OPERATING = frozenset("=:<>!&|+-*/%")
_SEPARATING = frozenset(",;:()[]{}\"'`")
_DOUBLED = re.compile(r"([^\w\s]{2,})\s*\1")
# The signs that may have been meant by a sign.
_ALIKE = {
    ")": ("]", "}"),
    "]": (")", "}"),
    "}": (")", "]"),
    "(": ("[", "{"),
    "[": ("(", "{"),
    "{": ("(", "["),
    ";": (",", ":"),
    ",": (";", ":"),
    ":": ("::", ":=", "=", ";", ",", "{"),
    "=": ("==", ":", "=>", ":="),
    "-": ("->",),
    "&": ("&&",),
    "|": ("||",),
    '"': ("'",),
    "'": ('"',),
}


@dataclass(frozen=True, slots=True)
class Variant:
    """A text for the line, with a cost that grows as the text becomes less likely."""

    text: str
    cost: float


def variants(line: Line) -> Iterator[Variant]:
    """Yield all variants that are worth parsing."""
    yield from _closed(line)
    yield from _opened(line)
    yield from _quoted(line)
    yield from _ended(line)
    yield from _parted(line)
    yield from _worded(line)
    yield from _spelled(line)
    yield from _without(line)
    yield from _exchanged(line)


def _put(line: Line, at: int, token: str) -> str:
    """Return the line with a token inserted; words, braces and operators get spaces around them."""
    left, right = line.text[:at], line.text[at:]
    if not right.strip():
        right = ""
    if token[0] in "{=-" or token.isalpha():
        left += "" if not left.strip() or left[-1:].isspace() or left[-1:] in "([" else " "
        token += "" if not right or right[0].isspace() or right[0] in ")]};," else " "
    elif token == ":" and " ? " in left and not left[-1:].isspace():
        token = " :"
    elif token == "}" and "{ " in left and not left[-1:].isspace():
        token = " }"
    return left + token + right


def _closed(line: Line) -> Iterator[Variant]:
    """Yield the line with a closing bracket inserted, as far right as possible."""
    opened = line.scan.opened
    for opening, closing in (*PAIRS.items(), ("<", ">")):
        if opening in opened:
            base = 0
        elif line.text.count(opening) > line.text.count(closing):
            base = 2 if closing in CLOSING else 3  # in a string; a header
        else:
            continue
        first = line.text.index(opening)
        for number, (_, end) in enumerate(line.tokens):
            if end > first:
                inner = line.text[first:end]
                odd = 1.5 * (not _is_whole(line, number, inner)) + 1.5 * _is_beyond(line, first, inner)
                yield Variant(_put(line, end, closing), base + odd + line.later(end))


def _is_whole(line: Line, number: int, inner: str) -> bool:
    """Return whether the contents of a bracket may end before a token."""
    token = line.token(number)
    shouted = token.isupper() and token.lower() in line.language.lexical.keywords
    return (ends_operand(token) and not shouted) or inner[-2:] in ("++", "--") or inner[1:] == "*"


def _is_beyond(line: Line, first: int, inner: str) -> bool:
    """Return whether the bracket at `first` must have ended already: it contains an assignment or a function's body."""
    called = line.text[:first][-1:].isalnum()
    return " = " in inner if inner[0] != "(" else " => " in inner and not called


def _opened(line: Line) -> Iterator[Variant]:
    """Yield the line with an opening bracket inserted for one that is closed but not open."""
    for opening, closing in PAIRS.items():
        if closing not in line.scan.closed:
            continue
        for number, (start, _) in enumerate(line.tokens):
            spaced = line.text[:start][-1:].isspace() or line.token(number)[0] in QUOTES
            called = spaced and line.is_operand(number - 1) and begins_operand(line.token(number))
            base = 0 if called else 2
            left = line.text[:start].rstrip() if called and opening == "(" else line.text[:start]
            yield Variant(left + opening + line.text[start:], base + 1 - line.later(start))


def _quoted(line: Line) -> Iterator[Variant]:
    """Yield the line with a quote inserted, if it has an odd number of them."""
    for quote in delimiters.quotes(line.language.id):
        if line.text.count(quote) % 2:
            for at in sorted({at for place in line.tokens for at in place}):
                text = _put(line, at, quote)
                yield Variant(text, _misfits(text, quote) + line.later(at) + len(quote) / 20)


def _misfits(text: str, quote: str) -> float:
    """Return a cost for quotes at places where no string seems to begin or end."""
    cost = 0.0
    for number, found in enumerate(re.finditer(re.escape(quote), text)):
        before, behind = text[: found.start()][-1:] or " ", text[found.end() :][:1] or " "
        if number % 2:
            fits = behind.isspace() or behind in ")]},;:."
            cost += 0.8 * (before.isspace() or not fits) + 0.8 * (before in ",;" or before.isspace())
        else:
            fits = before.isspace() or before in "([{=,:!&|+<>?%"
            cost += 0.8 * (behind.isspace() or not fits)
    return cost


def _ended(line: Line) -> Iterator[Variant]:
    """Yield the line with a token that opens a body or ends a statement, inserted at its end before a comment."""
    opens, words = line.language.layout.opens, body_words(line.language)
    ends: tuple[str, ...] = (":", "{", ";", *words, *(f"; {word}" for word in words))
    closers = "".join(PAIRS[opening] for opening in unclosed(line.scan.opened, ""))
    if closers:
        ends += (f"{closers}:", f"{closers} {{", f"{closers};")
    for _, end in line.tokens:
        rest = line.text[end:].strip()
        if rest and not delimiters.is_comment(rest, line.language.id):
            continue
        if closers:
            yield Variant(_put(line, end, closers), 0.9 + line.later(end))
        for token in ends:
            body = opens.search(line.text[:end] + " " * token[0].isalpha() + token) is not None
            base = 0.5 if body and line.deeper else 1 if token == ";" and not line.deeper else 3
            yield Variant(_put(line, end, token), base + line.later(end) + len(token) / 20)


def _parted(line: Line) -> Iterator[Variant]:
    """Yield the line with a sign inserted between two operands or after the last item of a list."""
    keywords = line.language.lexical.keywords
    for number, (_, end) in enumerate(line.tokens):
        left, right = line.token(number), line.token(number + 1)
        if right == "}" or (right and right in body_words(line.language)):
            yield Variant(_put(line, end, ";"), 2 + 1 - line.later(end))
        if right == "|" and line.deeper:
            for word in body_words(line.language):
                yield Variant(_put(line, end, word), 0.4)
        inner = line.inner(end)
        if not ends_operand(left) or (right and not begins_operand(right)):
            continue
        spacing = 0 if not right or line.tokens[number + 1][0] > end else 1
        if inner or (right not in keywords and line.is_operand(number)):
            base = 2.0 if inner in ("(", "[") or not right else 3 if inner == "{" else 4
            yield Variant(_put(line, end, ","), base + spacing + 1 - line.later(end))
        if right:
            for sign, base in _signs(line, end, left, right):
                yield Variant(_put(line, end, sign), base + spacing + 1 - line.later(end))


def _signs(line: Line, at: int, left: str, right: str) -> Iterator[tuple[str, float]]:
    """Yield the signs other than a comma that may be missing between two operands, with their costs."""
    inner = line.inner(at)
    typed = line.names_type(right) and left[0].islower()
    if inner and (typed or _pairs(line, at)):
        yield ":", 1.5
    else:
        yield ":", 2 if inner == "{" and not left.isdigit() else 2.9 if typed else 4
    yield "=", 5 if inner else 3
    yield "=>", 5.5 if inner else 3.5
    yield "->", 5.5 if inner else 3.5
    yield ";", 5


def _pairs(line: Line, at: int) -> bool:
    """Return whether the items next to a place are pairs with a colon."""
    start = max(line.text.rfind(opening, 0, at) for opening in PAIRS)
    return ":" in line.text[start:at].replace("::", "") or ": " in line.text[at:].partition(")")[0]


def _worded(line: Line) -> Iterator[Variant]:
    """Yield the line with a keyword inserted between two operands."""
    for number, (_, end) in enumerate(line.tokens[:-1]):
        if ends_operand(line.token(number)) and begins_operand(line.token(number + 1)):
            for word in keywords_of(line.language):
                spelled = word.upper() if line.token(number).isupper() else word
                yield Variant(_put(line, end, spelled), 8 + 1 - line.later(end))


def _spelled(line: Line) -> Iterator[Variant]:
    """Yield the line with a keyword in place of a misspelled one."""
    keywords = keywords_of(line.language)
    for number, (start, end) in enumerate(line.tokens):
        word = line.token(number)
        if len(word) < LEAST_SPELLED or word in keywords or word.lower() in keywords:
            continue
        for keyword in get_close_matches(word.lower(), keywords, 2, 0.75):
            if abs(len(keyword) - len(word)) < 2:
                spelled = keyword.upper() if word.isupper() else keyword
                yield Variant(line.text[:start] + spelled + line.text[end:], 1 + 1 - line.later(start))


def _without(line: Line) -> Iterator[Variant]:
    """Yield the line without one of its signs, or without a doubled keyword."""
    text, keywords = line.text, line.language.lexical.keywords
    for number, (start, end) in enumerate(line.tokens):
        token = line.token(number)
        twice = token == line.token(number - 1)
        if token[0].isalnum() and not (twice and token in keywords):
            continue
        beside = token == "=" and bool(_OPERATING & {line.token(number - 1), line.token(number + 1)})
        if not twice and not beside and (token not in _SEPARATING or text[start:].strip() == ";"):
            continue  # an operand may be missing, and no sign can replace it
        if twice and (token in line.scan.closed or token == line.scan.opened[-1:] == "{"):
            base = 0.0
        elif token in line.scan.closed:
            base = 1.6
        else:
            base = 4 if not twice else 3 if 2 * token in tokens_of(line.language.id) else 1
        left = _cut(text, start, end)
        if left.strip():
            yield Variant(left, base + (1 - line.later(start) if base else 0))
    for found in _DOUBLED.finditer(text):
        yield Variant(text[: found.end(1)] + text[found.end() :], 1)


def _cut(text: str, start: int, end: int) -> str:
    """Return a text without a part of it and without a surplus space."""
    left, right = text[:start], text[end:]
    right = right.lstrip() if not left.strip() or left[-1].isspace() else right
    return left + right if right.strip() else left.rstrip()


def _exchanged(line: Line) -> Iterator[Variant]:
    """Yield the line with one sign replaced, or with two parts of a sign joined."""
    text = line.text
    for number, (start, end) in enumerate(line.tokens):
        token, right = line.token(number), line.token(number + 1)
        for rank, other in enumerate(_ALIKE.get(token, ())):
            if token in CLOSING or (token in QUOTES and text.count(other) % 2):
                base = 2
            else:
                base = 3 if other == 2 * token else 5
            base -= 2 * (token in QUOTES and token not in delimiters.quotes(line.language.id))
            left = text[:start].rstrip() if other == ":" and "?" not in text[:start] else text[:start]
            yield Variant(left + other + text[end:], base + rank / 10 - line.later(start))
        if right and not token[0].isalnum() and not right[0].isalnum():
            first = line.tokens[number + 1][0]
            if first > end and token != right and token + right in tokens_of(line.language.id):
                yield Variant(text[:end] + text[first:], 1.5)
