"""A line whose syntax is broken: its tokens, what it leaves open, and which tokens its language has."""

import re
from dataclasses import dataclass
from functools import lru_cache

from infill_engine.text import delimiters, lines, syntax
from infill_engine.text.delimiters import CLOSING, PAIRS
from infill_engine.text.languages import Language
from infill_engine.text.languages import language as language_named

QUOTES = "\"'`"

_TOKEN = re.compile(r"\w+|[^\w\s]")
# Keywords that are not types.
_VALUES = frozenset(
    "true false null none nil undefined this self super new not await yield function lambda if else for in".split()
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line with its tokens, as spans, and what its brackets and quotes leave open.

    `deeper`: the next line is indented further.
    """

    text: str
    language: Language
    tokens: tuple[tuple[int, int], ...]
    scan: delimiters.Scan
    deeper: bool

    @classmethod
    def of(cls, text: str, after: str, language: str) -> "Line":
        """Return a line, given the text after it."""
        tokens = tuple(found.span() for found in _TOKEN.finditer(text))
        below = next((each for each in lines.split(after) if each.strip()), "")
        deeper = len(lines.indent_of(below)) > len(lines.indent_of(text))
        known, code = language_named(language), text.rstrip()
        if deeper and code.endswith("{") and known.layout.opens.search(code):
            code = code[:-1]  # the bracket that opens a body is closed further down
        return cls(text, known, tokens, delimiters.scan(code, language), deeper)

    def token(self, number: int) -> str:
        """Return the text of a token; "" beyond the ends."""
        if not 0 <= number < len(self.tokens):
            return ""
        start, end = self.tokens[number]
        return self.text[start:end]

    def is_operand(self, number: int) -> bool:
        """Return whether a token ends an operand and is not a keyword."""
        token = self.token(number)
        return ends_operand(token) and token not in self.language.lexical.keywords

    def names_type(self, token: str) -> bool:
        """Return whether a token is likely to be a type: it has a capital letter, or is a keyword that is not a
        value."""
        return token[0].isupper() or (token in self.language.lexical.keywords and token not in _VALUES)

    def inner(self, at: int) -> str:
        """Return the bracket or quote around a place in the line; "" if there is none."""
        found = delimiters.scan(self.text[:at], self.language.id)
        return found.inside or found.opened[-1:]

    def later(self, at: int) -> float:
        """Return a number below 1 that falls towards the end of the line."""
        return (len(self.text) - at) / (len(self.text) + 1)


def ends_operand(token: str) -> bool:
    """Return whether an operand may end with a token."""
    return (bool(token) and token[-1:].isalnum()) or token[-1:] in (*CLOSING, "_", *QUOTES)


def begins_operand(token: str) -> bool:
    """Return whether an operand may begin with a token."""
    return token[:1].isalnum() or token[:1] in (*PAIRS, *QUOTES, *"_$@&*-|")


@lru_cache(maxsize=32)
def tokens_of(language: str) -> frozenset[str]:
    """Return the signs and words of a language's grammar."""
    known = syntax.grammar(language)
    if known is None:
        return frozenset()
    return frozenset(kind for number in range(known.node_kind_count) if (kind := known.node_kind_for_id(number)))


def body_words(language: Language) -> tuple[str, ...]:
    """Return the words that open or end a body at the end of a line."""
    opens, ends = language.layout.opens, language.layout.ends
    return tuple(
        word
        for word in keywords_of(language)
        if opens.search(f"x {word}") or (ends is not None and ends.fullmatch(word))
    )


def keywords_of(language: Language) -> tuple[str, ...]:
    """Return the keywords that the grammar knows, in lower case."""
    tokens = tokens_of(language.id)
    return tuple(
        sorted(
            word
            for word in language.lexical.keywords
            if word.islower() and (word in tokens or f"keyword_{word}" in tokens)
        )
    )
