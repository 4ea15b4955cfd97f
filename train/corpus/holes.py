"""Chooses the holes of a training file: where a user's cursor could be, and what should then be filled in.

The mixture follows what editors request: the rest of a line from a random cursor, syntax nodes, whole statements, short
blocks, and a few arbitrary spans. The nodes are those that the language's query names. In languages whose indentation
forms bodies, any line begins a statement and any run of lines is a block. Elsewhere the query marks the statements, and
a block is a run of them, because a closing brace is neither.
"""

import random
import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from infill_engine.text.languages import Bodies
from infill_engine.text.languages import language as language_named
from infill_engine.text.languages.queries import ARGUMENT, STATEMENT, captures
from infill_engine.text.syntax import parse, to_bytes
from infill_engine.types import HoleKind

if TYPE_CHECKING:
    from tree_sitter import Point

CHARACTERS_PER_HOLE = 70
CUT_ANYWHERE = 0.4  # share of cursors inside a word rather than between two
MOST_CHARACTERS = 80  # longest node
MOST_IN_BLOCK = 240
MORE_ROWS = 5  # of a block, besides its first
_PIECE_START = re.compile(r"(?<![\w]) ?\w|[^\w\s]")

Rows = tuple[int, int]  # the first and the last


@dataclass(frozen=True, slots=True)
class Span:
    """One hole: the characters [start, end) of the text."""

    start: int
    end: int
    kind: HoleKind


def spans_of(
    text: str, rng: random.Random, language: str = "python", file: str | None = None, at: int = 0
) -> list[Span]:
    """Return holes for `text` in order of their start, about one per `CHARACTERS_PER_HOLE` characters.

    `text` consists of whole lines of `file` from its offset `at` on; without a `file`, it is all of it. The syntax tree
    is that of the file, because a part of it may not be code by itself, such as PHP without its `<?php`.
    """
    breaks = [match.start() for match in re.finditer("\n", text)]
    lines = [0, *(at + 1 for at in breaks)]
    ends = [*breaks, len(text)]
    found = _found(text if file is None else file, language, at, at + len(text))
    nodes, bodies = found.arguments, found.bodies or None
    rows = [row for body in bodies or () for row, _ in body]
    wanted = max(1, len(text) // CHARACTERS_PER_HOLE)
    spans: dict[tuple[int, int], Span] = {}
    for _ in range(wanted):
        draw = rng.random()
        if draw < 0.40 or not nodes:
            span = _rest_of_line(text, lines, ends, rng)
        elif draw < 0.62:
            span = _node(text, nodes, rng)
        elif draw < 0.80:
            span = _statement(text, lines, ends, rows, rng)
        elif draw < 0.94:
            span = _block(text, lines, ends, bodies, rng)
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


def _statement(text: str, lines: list[int], ends: list[int], rows: list[int], rng: random.Random) -> Span | None:
    row = rng.choice(rows) if rows else rng.randrange(len(ends))
    start = _first_character(text, lines[row], ends[row])
    return Span(start, ends[row], HoleKind.STATEMENT) if start < ends[row] else None


def _block(
    text: str, lines: list[int], ends: list[int], bodies: list[list[Rows]] | None, rng: random.Random
) -> Span | None:
    """Return several rows: any if `bodies` is None, else whole statements of a body."""
    if bodies is None:
        row = rng.randint(0, len(ends) - 1)
        last = min(row + rng.randint(1, MORE_ROWS), len(ends) - 1)
    else:
        body = rng.choices(bodies, [len(each) for each in bodies])[0]
        number = rng.randrange(len(body))
        row, last = body[number]
        most = row + rng.randint(1, MORE_ROWS)
        last = max((end for _, end in body[number:] if end <= most), default=row)
    start = _first_character(text, lines[row], ends[row])
    blank = start == ends[row] or not text[lines[last] : ends[last]].strip()
    if blank or last == row or ends[last] > start + MOST_IN_BLOCK:
        return None
    return Span(start, ends[last], HoleKind.BLOCK)


def _first_character(text: str, start: int, end: int) -> int:
    return end - len(text[start:end].lstrip())


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
    """What a query finds: spans of short one-line nodes, and the rows of the statements of each body.

    `bodies` is None if any row may begin a statement and end a block.
    """

    arguments: list[tuple[int, int]]
    bodies: list[list[Rows]] | None = None


def _found(file: str, language: str, start: int, end: int) -> _Found:
    """Run the language's query on the characters [start, end) of a file. Offsets and rows are relative to `start`."""
    tree = parse(file, language)
    if tree is None:
        return _Found([])
    known = language_named(language)
    lines = file.split("\n")
    offsets = list(accumulate((len(line) + 1 for line in lines), initial=0))
    first, last = file.count("\n", 0, start), file.count("\n", 0, end)
    found = captures(known, tree.root_node, (first, last + 1))

    def offset(point: "Point") -> int:
        line = lines[point.row]
        column = point.column if line.isascii() else len(to_bytes(line)[: point.column].decode("utf-8", "replace"))
        return offsets[point.row] + column - start

    spans = [
        (offset(node.start_point), offset(node.end_point))
        for node in found.get(ARGUMENT, [])
        if node.start_point.row == node.end_point.row and 1 < node.end_byte - node.start_byte <= MOST_CHARACTERS
    ]
    arguments = sorted(
        (span for span in spans if span[0] >= 0 and span[1] <= end - start), key=lambda span: (-span[1], span[0])
    )
    if known.layout.bodies is Bodies.INDENTATION:
        return _Found(arguments)
    siblings: defaultdict[int, list[Rows]] = defaultdict(list)
    for node in found.get(STATEMENT, []):
        (row, column), below = node.start_point, node.end_point
        if first <= row and below.row < last and node.parent and not lines[row].encode()[:column].strip():
            siblings[node.parent.id].append((row - first, below.row - (below.column == 0) - first))
    return _Found(arguments, [sorted(set(rows)) for rows in siblings.values()])
