"""A text inside a word makes a whole word of it, and parts it nowhere else."""

import re

from infill_engine.ranking.cleanup.scripts import UNSEPARATED, scripts_of
from infill_engine.text.lines import first_line, last_line
from infill_engine.types import Hole, InfillRequest

_ENDING = re.compile(r"\w+\Z")
_WORD = re.compile(r"\w+")


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
