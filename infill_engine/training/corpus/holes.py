"""Chooses the holes of a training file: where a user's cursor could be, and what should then be filled in.

The mixture follows what editors request: the rest of a line from a random cursor, syntax nodes, whole statements, short
blocks, and a few arbitrary spans. The nodes are those that the language's query names. In languages whose indentation
forms bodies, any line begins a statement and any run of lines is a block. Elsewhere the query marks them, because a
closing brace is neither.
"""

import random
import re
from dataclasses import dataclass

from infill_engine.text.languages import Bodies
from infill_engine.text.languages import language as language_named
from infill_engine.text.languages.queries import ARGUMENT, BLOCK, STATEMENT, captures
from infill_engine.text.syntax import parse
from infill_engine.types import HoleKind

KINDS = tuple(HoleKind)  # a hole's kind is stored as its index in this tuple
CHARACTERS_PER_HOLE = 70
CUT_ANYWHERE = 0.4  # share of cursors inside a word rather than between two
MOST_CHARACTERS = 80  # longest node
MOST_IN_BLOCK = 240
_PIECE_START = re.compile(r"(?<![\w]) ?\w|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Span:
    """One hole: the characters [start, end) of the text."""

    start: int
    end: int
    kind: HoleKind


def spans_of(text: str, rng: random.Random, language: str = "python") -> list[Span]:
    """Return holes for `text` in order of their start, about one per `CHARACTERS_PER_HOLE` characters."""
    breaks = [match.start() for match in re.finditer("\n", text)]
    lines = [0, *(at + 1 for at in breaks)]
    ends = [*breaks, len(text)]
    found = _found(text, language)
    nodes = found.arguments
    wanted = max(1, len(text) // CHARACTERS_PER_HOLE)
    spans: dict[tuple[int, int], Span] = {}
    for _ in range(wanted):
        draw = rng.random()
        if draw < 0.40 or not nodes:
            span = _rest_of_line(text, lines, ends, rng)
        elif draw < 0.62:
            span = _node(text, nodes, rng)
        elif draw < 0.80:
            span = _statement(text, lines, ends, found.statement_rows, rng)
        elif draw < 0.94:
            span = _block(text, lines, ends, found.block_rows, rng)
        else:
            span = _arbitrary(text, lines, ends, rng)
        if span is not None and text[span.start : span.end].strip():
            spans.setdefault((span.start, span.end), span)
    return sorted(spans.values(), key=lambda span: (span.start, span.end))


def _rest_of_line(text: str, lines: list[int], ends: list[int], rng: random.Random) -> Span | None:
    row = rng.randrange(len(ends))
    start, end = lines[row], ends[row]
    body = start + len(text[start:end]) - len(text[start:end].lstrip())
    if end - body < 2:
        return None
    return Span(_cursor(text, body, end, rng), end, HoleKind.LINE)


def _cursor(text: str, first: int, last: int, rng: random.Random) -> int:
    """Return a cursor in [first, last): usually between two pieces, sometimes inside a word."""
    if rng.random() < CUT_ANYWHERE:
        return rng.randrange(first, last)
    starts = [match.start() for match in _PIECE_START.finditer(text, first, last)]
    return rng.choice(starts) if starts else first


def _node(text: str, nodes: list[tuple[int, int]], rng: random.Random) -> Span:
    start, end = rng.choice(nodes)
    if text[start - 1 : start] == " " and text[start - 2 : start - 1].strip() and rng.random() < 0.7:
        start -= 1  # the engine merges a single space before the cursor into the first token
    if rng.random() < CUT_ANYWHERE / 2 and end - start > 3:
        start = rng.randrange(start, end - 1)
    return Span(start, end, HoleKind.LINE if _ends_line(text, end) else HoleKind.EXPRESSION)


def _statement(text: str, lines: list[int], ends: list[int], rows: list[int] | None, rng: random.Random) -> Span | None:
    row = rng.choice(rows) if rows else rng.randrange(len(ends))
    start = lines[row] + len(text[lines[row] : ends[row]]) - len(text[lines[row] : ends[row]].lstrip())
    return Span(start, ends[row], HoleKind.STATEMENT) if start < ends[row] else None


def _block(
    text: str, lines: list[int], ends: list[int], bodies: list[tuple[int, int]] | None, rng: random.Random
) -> Span | None:
    first, end = rng.choice(bodies) if bodies else (0, len(ends) - 1)
    row = rng.randint(first, end)
    last = min(row + rng.randint(1, 5), end)
    start = lines[row] + len(text[lines[row] : ends[row]]) - len(text[lines[row] : ends[row]].lstrip())
    if not start < ends[last] <= start + MOST_IN_BLOCK or not text[lines[last] : ends[last]].strip():
        return None
    return Span(start, ends[last], HoleKind.BLOCK)


def _arbitrary(text: str, lines: list[int], ends: list[int], rng: random.Random) -> Span | None:
    row = rng.randrange(len(ends))
    start, end = sorted((rng.randint(lines[row], ends[row]), rng.randint(lines[row], ends[row])))
    if not text[lines[row] : start].strip():
        return None
    return Span(start, end, HoleKind.LINE if _ends_line(text, end) else HoleKind.EXPRESSION)


def _ends_line(text: str, end: int) -> bool:
    stop = text.find("\n", end)
    return not text[end : stop if stop >= 0 else len(text)].strip()


@dataclass(frozen=True, slots=True)
class _Found:
    """What a query finds: spans of short one-line nodes, rows where statements begin, first and last rows of bodies.

    Rows are None if any row is valid.
    """

    arguments: list[tuple[int, int]]
    statement_rows: list[int] | None = None
    block_rows: list[tuple[int, int]] | None = None


def _found(text: str, language: str) -> _Found:
    """Run the language's query. Only ASCII text is supported (bytes are then characters); other text gives nothing."""
    tree = parse(text, language)
    if tree is None or not text.isascii():
        return _Found([])
    known = language_named(language)
    found = captures(known, tree.root_node)
    spans = [
        (node.start_byte, node.end_byte)
        for node in found.get(ARGUMENT, [])
        if 1 < node.end_byte - node.start_byte <= MOST_CHARACTERS and node.start_point.row == node.end_point.row
    ]
    arguments = sorted(spans, key=lambda span: (-span[1], span[0]))
    if known.layout.bodies is Bodies.INDENTATION:
        return _Found(arguments)
    lines = text.split("\n")
    begins = {node.start_point for node in found.get(STATEMENT, [])}
    rows = sorted(row for row, column in begins if not lines[row][:column].strip())
    bodies = [_inner_rows(lines, node.start_point.row, node.end_point) for node in found.get(BLOCK, [])]
    return _Found(arguments, rows, [body for body in bodies if body[0] < body[1]])


def _inner_rows(lines: list[str], first: int, end: tuple[int, int]) -> tuple[int, int]:
    """Return the rows of a body without those of its braces. The last brace ends at `end`."""
    last, column = end
    return first + lines[first].rstrip().endswith("{"), last - (not lines[last][:column].strip(" \t}"))
