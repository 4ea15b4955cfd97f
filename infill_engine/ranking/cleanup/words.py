"""The words that a text makes with those on both sides of it."""

import re
import unicodedata

from infill_engine.text.lines import first_line, last_line
from infill_engine.types import Hole, InfillRequest

# Scripts whose words are not separated by blanks, or are written beside words of others: `使用Python编程`.
UNSEPARATED = frozenset({"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR"})
_LETTERS = re.compile(r"[^\W\d_]+")
_LAST_LETTERS = re.compile(r"[^\W\d_]*\Z")
_FIRST_LETTERS = re.compile(r"[^\W\d_]*")
_ENDING = re.compile(r"\w+\Z")
_WORD = re.compile(r"\w+")


def scripts(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """Drop a text that makes a word in several scripts, unless the word is in the document.

    Inside a word, drop a text in another script than the word's.
    """
    ending = _LAST_LETTERS.search(last_line(request.prefix))
    beginning = _FIRST_LETTERS.match(first_line(request.suffix))
    begun, ended = ending.group() if ending else "", beginning.group() if beginning else ""
    if begun and ended and scripts_of(begun[-1]) == scripts_of(ended[0]) != scripts_of(text) and _LETTERS.search(text):
        return None
    words = [word for word in _LETTERS.findall(begun + text + ended) if not word.isascii()]
    mixed = [word for word in words if len(scripts_of(word) - UNSEPARATED) > 1]
    return None if any(word not in request.prefix and word not in request.suffix for word in mixed) else text


def scripts_of(text: str) -> frozenset[str]:
    """Return the names of the scripts of the letters in a text, as Unicode names them."""
    names = (unicodedata.name(letter, "").partition(" ")[0] for letter in text if letter.isalpha())
    return frozenset(names) - {"", "MODIFIER", "FEMININE", "MASCULINE", "FULLWIDTH"}


def cut_words(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """Drop a text between two parts of a word if it cuts the word, or makes one that the document does not have.

    A name in code may become a new name, or something is written in front of it: `len(` before `items`.
    """
    ending, beginning = _ENDING.search(last_line(request.prefix)), _WORD.match(first_line(request.suffix))
    if ending is None or beginning is None or scripts_of(ending.group() + beginning.group()) & UNSEPARATED - {"HANGUL"}:
        return text
    begun, ended = ending.group(), beginning.group()
    before, after = request.prefix[: -len(begun)], request.suffix[len(ended) :]
    known = frozenset(_WORD.findall(before)) | frozenset(_WORD.findall(after))
    made = f"{begun}{text}{ended}"
    if _WORD.fullmatch(made):
        return text if made.isascii() or made in known else None
    last = _ENDING.search(text)
    may_part = f"{begun}{ended}".isascii() and (last is None or f"{last.group()}{ended}" in known)
    return text if may_part else None
