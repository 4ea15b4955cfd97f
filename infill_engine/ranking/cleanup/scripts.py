"""Letters of two scripts in one word, such as `prивет`, are a mistake of the model."""

import re
import unicodedata

from infill_engine.text.lines import first_line, last_line
from infill_engine.types import Hole, InfillRequest

# Scripts whose words are not separated by blanks, or are written beside words of others: `使用Python编程`.
UNSEPARATED = frozenset({"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR"})
_WORD = re.compile(r"[^\W\d_]+")
_ENDING = re.compile(r"[^\W\d_]*\Z")
_BEGINNING = re.compile(r"[^\W\d_]*")


def scripts(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """Drop a text that makes a word in several scripts, unless the word is in the document.

    Inside a word, drop a text in another script than the word's.
    """
    ending, beginning = _ENDING.search(last_line(request.prefix)), _BEGINNING.match(first_line(request.suffix))
    begun, ended = ending.group() if ending else "", beginning.group() if beginning else ""
    if begun and ended and scripts_of(begun[-1]) == scripts_of(ended[0]) != scripts_of(text) and _WORD.search(text):
        return None
    words = [word for word in _WORD.findall(begun + text + ended) if not word.isascii()]
    mixed = [word for word in words if len(scripts_of(word) - UNSEPARATED) > 1]
    return None if any(word not in request.prefix and word not in request.suffix for word in mixed) else text


def scripts_of(text: str) -> frozenset[str]:
    """Return the names of the scripts of the letters in a text, as Unicode names them."""
    names = (unicodedata.name(letter, "").partition(" ")[0] for letter in text if letter.isalpha())
    return frozenset(names) - {"", "MODIFIER", "FEMININE", "MASCULINE", "FULLWIDTH"}
