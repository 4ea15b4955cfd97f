"""Brackets, quotes and comments: what closes already is not closed again, and no empty comment hides the line."""

from infill_engine.text import delimiters
from infill_engine.text.delimiters import comment_marks, scan
from infill_engine.text.lines import last_line
from infill_engine.types import Hole, InfillRequest


def balance(text: str, request: InfillRequest, hole: Hole) -> str | None:
    """Cut the text before the first bracket or quote that closes what the suffix already closes.

    The text may close what the suffix leaves open: in `print(foo(|)` it may contain one `)`.
    """
    language = request.language
    inside = _inside(request, hole)
    if inside:
        return _within_string(text, inside, hole, language) if delimiters.is_quote(inside, language) else text
    opened = delimiters.scan(request.prefix, language).opened
    closed = delimiters.scan(request.suffix, language).closed
    free = delimiters.unclosed(opened, closed)
    read = delimiters.scan(text, language).closed
    kept = 0
    while kept < min(len(free), len(read)) and delimiters.PAIRS[free[kept]] == read[kept]:
        kept += 1
    return text if kept == len(read) else _before_closer(text, kept, language)


def _inside(request: InfillRequest, hole: Hole) -> str:
    """Return the quote or comment mark around the hole, from the hole's closers or else from the text."""
    language = request.language
    marks = (*delimiters.quotes(language), *delimiters.comment_marks(language))
    closings = {mark: delimiters.closing_of(mark, language) for mark in marks}
    by_closers = [mark for mark, closing in closings.items() if closing and hole.closers.startswith(closing)]
    inside = delimiters.scan(request.prefix, language).inside
    if not delimiters.is_quote(inside, language):
        return next(iter(by_closers), inside)
    closing = delimiters.closing_of(inside, language)
    if closing and hole.closers.startswith(closing) and all(len(closing) >= len(closings[mark]) for mark in by_closers):
        return inside
    return next(iter(by_closers), "" if hole.closers else inside)


def _within_string(text: str, quote: str, hole: Hole, language: str) -> str:
    end = delimiters.string_end(text, quote, language)
    closing = delimiters.closing_of(quote, language)
    return text[: end - len(closing)] if end >= 0 and hole.closers.startswith(closing) else text


def _before_closer(text: str, kept: int, language: str) -> str:
    """Return `text` up to closing bracket number `kept` (from 0) of those that close something before the text."""
    low, high = 0, len(text)
    while low < high:  # find the longest part that closes no more than `kept`
        middle = (low + high + 1) // 2
        if len(delimiters.scan(text[:middle], language).closed) <= kept:
            low = middle
        else:
            high = middle - 1
    return text[:low]


def comment_mark(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """Drop a text that ends in an empty comment."""
    marks = comment_marks(request.language)
    ending = text.rstrip(" \t")
    mark = max((mark for mark in marks if ending.endswith(mark)), key=len, default="")
    if not mark:
        return text
    line = last_line(request.prefix + ending)
    before = line[: len(line) - len(mark)]
    return text if scan(before, request.language).inside else None
