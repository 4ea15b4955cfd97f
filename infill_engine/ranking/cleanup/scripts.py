"""Letters of two alphabets in one word, such as `prивет`, are a mistake of the model."""

import re
import unicodedata

from infill_engine.text.lines import last_line
from infill_engine.types import Hole, InfillRequest

MIXABLE = ("LATIN", "GREEK", "CYRILLIC")  # alphabets with letters that look alike
_WORD = re.compile(r"[^\W\d_]+")


def scripts(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """Drop a text with a word in several alphabets, unless the word is in the document."""
    start = _WORD.search(last_line(request.prefix)[::-1])
    begun = start.group()[::-1] if start is not None and start.start() == 0 else ""
    words = _WORD.findall(begun + text)
    mixed = [word for word in words if not word.isascii() and len(_alphabets(word)) > 1]
    return None if any(word not in request.prefix and word not in request.suffix for word in mixed) else text


def _alphabets(word: str) -> set[str]:
    names = {unicodedata.name(letter, "").partition(" ")[0] for letter in word}
    return names.intersection(MIXABLE)
