"""Brackets and quotes that already stand to the right are not closed a second time."""

from infill_engine.text import delimiters
from infill_engine.types import Hole, InfillRequest


def balance(text: str, request: InfillRequest, hole: Hole) -> str | None:
    """Cut the text before the first bracket or quote that closes what the suffix closes already.

    Closing what the suffix leaves open is welcome: in `print(foo(|)` the text may hold one `)`.
    """
    inside = _inside(request, hole)
    if inside in delimiters.QUOTES:
        return _within_string(text, inside, hole)
    if inside:
        return text
    opened = delimiters.scan(request.prefix, request.language).opened
    closed = delimiters.scan(request.suffix, request.language).closed
    free = delimiters.unclosed(opened, closed)
    read = delimiters.scan(text, request.language).closed
    kept = 0
    while kept < min(len(free), len(read)) and delimiters.PAIRS[free[kept]] == read[kept]:
        kept += 1
    return text if kept == len(read) else _before_closer(text, kept, request.language)


def _inside(request: InfillRequest, hole: Hole) -> str:
    """The quote or comment mark around the hole: as the hole's closers tell it, else by the text."""
    for quote in ('"""', "'''", '"', "'", "`", "*/"):
        if hole.closers.startswith(quote):
            return "/*" if quote == "*/" else quote
    inside = delimiters.scan(request.prefix, request.language).inside
    return "" if inside in delimiters.QUOTES and hole.closers else inside


def _within_string(text: str, quote: str, hole: Hole) -> str:
    end = delimiters.string_end(text, quote)
    return text[: end - len(quote)] if end >= 0 and hole.closers.startswith(quote) else text


def _before_closer(text: str, kept: int, language: str) -> str:
    """`text` up to its closing bracket number `kept` among those that close something before it."""
    low, high = 0, len(text)
    while low < high:  # the longest part that closes no more than `kept`
        middle = (low + high + 1) // 2
        if len(delimiters.scan(text[:middle], language).closed) <= kept:
            low = middle
        else:
            high = middle - 1
    return text[:low]
