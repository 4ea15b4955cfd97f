"""The text around a hole, and what a proposal says again of it.

What stands a few lines away is copied readily, by whoever proposals, and is seldom wanted once more: an import, a
method's head, the line above.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile, zip_longest

from infill_engine.context.line_shapes import names_in, word_pattern
from infill_engine.text.languages import language as language_named
from infill_engine.text.lines import first_line, indent_of, split

_IN_A_WORD = re.compile(r"\w\Z")


@dataclass(frozen=True, slots=True)
class ContextFeatures:
    """What stands left and right of the hole on its line, the lines above and below, and all words of it.

    Lines are the nearest first, without blank ones.
    """

    left: str
    right: str
    above: tuple[str, ...]
    below: tuple[str, ...]
    words: frozenset[str]
    language: str = ""

    @classmethod
    def of(cls, prefix: str, suffix: str, language: str = "") -> "ContextFeatures":
        """What is in both windows around a hole."""
        *above, left = split(prefix)
        right, *below = split(suffix)
        word = word_pattern(language)
        words = frozenset(word.findall(prefix)) | frozenset(word.findall(suffix))
        return cls(left, right, _not_blank(reversed(above)), _not_blank(below), words, language)

    @property
    def inside_word(self) -> bool:
        """Whether the cursor is behind a character that words are made of."""
        return _IN_A_WORD.search(self.left) is not None

    def unknown(self, text: str) -> float:
        """The share of the names in `text` that do not stand around the hole."""
        names = names_in(text, self.language)
        return sum(name not in self.words for name in names) / max(1, len(names))

    def echo(self, text: str) -> float:
        """1 / lines from the hole to the nearest one that says the same as its own with `text`; 0 where none does."""
        said = self._line_with(text).strip()
        for distance, lines in enumerate(zip_longest(self.above, self.below, fillvalue=""), 1):
            if said and any(line.strip() == said for line in lines):
                return 1 / distance
        return 0.0

    def redefines(self, text: str) -> bool:
        """Whether the line with `text` defines a function or class that has been defined in the same body."""
        line = self._line_with(text)
        defined_in = language_named(self.language).code.defined
        defined = defined_in(line)
        if defined is None:
            return False
        depth = len(indent_of(line))
        for lines in (self.above, self.below):
            body = takewhile(lambda one: len(indent_of(one)) >= depth, lines)
            if any(defined_in(one) == defined for one in body if len(indent_of(one)) == depth):
                return True
        return False

    def _line_with(self, text: str) -> str:
        """The hole's line; with the first of several lines that is the end of it."""
        first = first_line(text)
        return self.left + first + (self.right if first == text else "")


def _not_blank(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(line for line in lines if line.strip())
