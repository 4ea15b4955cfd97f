"""A text that opens a block brings its end. None leaves a bracket open that was closed before."""

import re
from functools import lru_cache

from infill_engine.ranking.syntax_check import new_faults
from infill_engine.text import delimiters, lines
from infill_engine.text.bodies import ended_bodies, open_bodies
from infill_engine.text.languages import Bodies
from infill_engine.text.languages import language as language_named
from infill_engine.types import Hole, InfillRequest

_TAG = re.compile(r"<([\w:-]+)[^<>]*>\s*\Z")


def block_end(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """Close the block that the text opens at its end, unless the code after it does.

    Drop a text that leaves other brackets open.
    """
    right = lines.first_line(request.suffix).strip()
    if not text.strip():
        return text
    if delimiters.scan_after(request.prefix, text, request.language).inside or _has_body(request, text):
        return text
    brackets = _left_open(request, text)
    if brackets:
        if not text.rstrip().endswith("{"):
            return None
        closing = "".join(delimiters.PAIRS[bracket] for bracket in brackets)
        if right:
            return text + closing
        return _likeliest([f"{text}\n{_indent(text, request)}{closing}{mark}" for mark in ("", ";")], request)
    words = [] if right else _closing_words(request, text)
    return _likeliest([f"{text}\n{_indent(text, request)}{word}" for word in words], request) if words else text


def _left_open(request: InfillRequest, text: str) -> str:
    """Return the brackets, innermost first, that only the text leaves open."""
    language, closed = request.language, delimiters.scan(request.suffix, request.language).closed
    opened, own = delimiters.scan_after(request.prefix, text, language).opened, delimiters.scan(text, language).opened
    before = delimiters.unclosed(opened[: len(opened) - len(own)], closed)
    after = delimiters.unclosed(opened, closed)
    return after[: max(0, len(after) - len(before))]


def _closing_words(request: InfillRequest, text: str) -> list[str]:
    """Return what may close the body that a text opens, if the code after it does not."""
    layout, language = language_named(request.language).layout, request.language
    opened = open_bodies(text, language) - ended_bodies(text, language)
    spare = ended_bodies(request.suffix, language) - open_bodies(request.prefix, language)
    if opened <= max(spare, 0):
        return []
    if layout.bodies is Bodies.TAGS:
        tag = _TAG.search(text)
        return [f"</{tag[1]}>"] if tag else []
    return list(layout.closing_words)


def _has_body(request: InfillRequest, text: str) -> bool:
    """Return whether the lines below are indented as the body of what the text opens: they are being wrapped."""
    return len(_indent_below(request.suffix)) > len(_indent(text, request))


@lru_cache(maxsize=8)
def _indent_below(suffix: str) -> str:
    """Return the indentation of the first line below the cursor's that is not blank."""
    return lines.indent_of(next((line for line in lines.split(suffix)[1:] if line.strip()), ""))


def _indent(text: str, request: InfillRequest) -> str:
    """Return the indentation of the line that the text opens last."""
    return lines.indent_of((lines.last_line(request.prefix) + text).rpartition("\n")[2])


def _likeliest(texts: list[str], request: InfillRequest) -> str:
    """Return the first of the texts with the fewest faults."""
    faults = new_faults(texts, request)
    return texts[faults.index(min(faults))]
