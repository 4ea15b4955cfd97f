"""The text around a hole, and how much of it a proposal repeats.

Models and copies often repeat text from a few lines away that is seldom wanted again: an import, the head of a method,
the line above.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

from infill_engine.context.line_shapes import names_in, word_pattern
from infill_engine.text.languages import language as language_named
from infill_engine.text.lines import first_line, indent_of, split

_IN_A_WORD = re.compile(r"\w\Z")


@dataclass(frozen=True)
class ContextFeatures:
    """The text left and right of the hole on its line, the lines above and below, and all words in both windows.

    Lines are nearest first, without blank ones.
    """

    left: str
    right: str
    above: tuple[str, ...]
    below: tuple[str, ...]
    words: frozenset[str]
    language: str = ""

    @cached_property
    def _distances(self) -> dict[str, int]:
        """The distance to the nearest line of each content, blanks at its ends aside."""
        found: dict[str, int] = {}
        for lines in (self.above, self.below):
            for distance, line in enumerate(lines, 1):
                said = line.strip()
                found[said] = min(distance, found.get(said, distance))
        return found

    @classmethod
    def of(cls, prefix: str, suffix: str, language: str = "") -> "ContextFeatures":
        """Return the features of both windows around a hole."""
        *above, left = split(prefix)
        right, *below = split(suffix)
        word = word_pattern(language)
        words = frozenset(word.findall(prefix)) | frozenset(word.findall(suffix))
        return cls(left, right, _not_blank(reversed(above)), _not_blank(below), words, language)

    @property
    def inside_word(self) -> bool:
        """Whether the cursor is right after a word character."""
        return _IN_A_WORD.search(self.left) is not None

    def unknown(self, text: str) -> float:
        """Return the share of the names in `text` that do not occur around the hole."""
        names = names_in(text, self.language)
        return sum(name not in self.words for name in names) / max(1, len(names))

    def equal_line(self, text: str) -> float:
        """Return 1 / distance in lines to the nearest line that equals the hole's line with `text`; 0 if there is
        none."""
        distance = self._distances.get(self._line_with(text).strip())
        return 0.0 if distance is None else 1 / distance

    def redefines(self, text: str) -> bool:
        """Return whether the line with `text` defines a function or class that is already defined in the same body."""
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
        """Return the hole's line with `text`; if `text` has several lines, the line ends with the first of them."""
        first = first_line(text)
        return self.left + first + (self.right if first == text else "")


def _not_blank(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(line for line in lines if line.strip())
