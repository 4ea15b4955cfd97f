"""What a code action at a place may rewrite: faulty code first, then syntax nodes from the inside to the outside."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from infill_engine.text.languages import language as language_named
from infill_engine.text.rewritable import Part, TreePoint, faulty_spans, is_broken, parts_around, prose_around
from infill_engine.text.validity import is_strict
from lsp_server.documents.snapshots import Snapshot, text_between
from lsp_server.protocol.positions import Place, line_content, utf8_length

if TYPE_CHECKING:
    from tree_sitter import Tree

MOST_CHARS = 400  # of a target; the model reads it as a whole, and a good text for a longer one takes too long
MOST_SELECTED_LINES = 500
MOST_LEVELS = 4
LARGEST_CHECKED = 200_000  # characters of a document that is parsed as a whole for each alternative
MOST_FAULTS = 2  # of each kind
MOST_BETWEEN = 300  # characters between the first and the last of several holes

Extent = tuple[Place, Place]


@dataclass(frozen=True, slots=True)
class Target:
    """Text to replace. Most targets have one span; the spans are sorted and disjoint.

    `fixes` says that its syntax is broken, or that it has diagnostics, whose numbers are in `diagnostics`. `repeats`
    says that its spans hold one name, which must stay one name. `several_lines` allows an alternative more lines than
    there are now. `error_elsewhere` says that the syntax breaks elsewhere, maybe because of this line, so that only an
    evident repair counts.
    """

    label: str
    spans: tuple[Extent, ...]
    fixes: bool = False
    broken: bool = False
    error_elsewhere: bool = False
    repeats: bool = False
    several_lines: bool = False
    diagnostics: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Targets:
    """The targets at a place, in the order in which they are worth trying, or why there are none."""

    found: tuple[Target, ...] = ()
    refusal: str = ""


def targets_at(snapshot: Snapshot, selected: Extent, diagnostics: Sequence[Extent] = ()) -> Targets:
    """Return what may be rewritten where a range is `selected` and where other servers report `diagnostics`."""
    start, end = _trimmed(snapshot.lines, *sorted(selected))
    if end[0] - start[0] >= MOST_SELECTED_LINES:
        return Targets(refusal=f"Select fewer than {MOST_SELECTED_LINES} lines.")
    if is_strict(snapshot.language) and snapshot.size > LARGEST_CHECKED:
        return Targets(refusal=f"infill-ls checks data files of up to {LARGEST_CHECKED:,} characters.")
    around = snapshot.syntax.around(snapshot.lines, start)
    if around is None:
        return Targets(refusal=f"infill-ls has no grammar for {language_named(snapshot.language).name}.")
    if end[0] - around[1] > around[0].root_node.end_point[0]:
        return Targets(refusal="The selection is too long.")
    found = _Reading(snapshot, *around)
    faults = (*found.faulty_lines(start, end), *found.diagnosed(diagnostics))
    first, last = found.byte_of(start), found.byte_of(end)
    prose = prose_around(around[0], snapshot.language, first, last)
    if prose:
        return Targets(faults, f"The selection is in a {prose}.")
    if start < end and is_broken(around[0], first, last):
        return Targets(faults, "The selection has a syntax error.")
    parts = found.parts(start, end)
    nodes = tuple(target for target in map(found.target_of, parts) if found.fits(target.spans))
    if not parts:
        return Targets(faults, "There is no expression, statement or block here.")
    if not nodes:
        return Targets(faults, f"Select fewer than {MOST_CHARS} characters.")
    return Targets((*faults, *nodes[:MOST_LEVELS]))


@dataclass(frozen=True, slots=True)
class _Reading:
    """A snapshot with the tree around a place; `first` is the row in which the tree's text begins."""

    snapshot: Snapshot
    tree: "Tree"
    first: int

    def byte_of(self, place: Place) -> int:
        lines = self.snapshot.lines
        return utf8_length("".join(lines[self.first : place[0]])) + utf8_length(lines[place[0]][: place[1]])

    def parts(self, start: Place, end: Place) -> list[Part]:
        return parts_around(self.tree, self.snapshot.language, self.byte_of(start), self.byte_of(end))

    def target_of(self, part: Part) -> Target:
        span = _trimmed(self.snapshot.lines, self._place(part.start), self._place(part.end))
        return Target(part.label, (span,), several_lines=part.lines)

    def faulty_lines(self, start: Place, end: Place) -> tuple[Target, ...]:
        """Return the broken part of each line from `start` to `end` in which the syntax breaks.

        If it breaks in none of them, but in another line, return the first one.
        """
        found = faulty_spans(self.tree, start[0] - self.first, end[0] - self.first)
        spans = [_widened(self.snapshot.lines, self._place(one), self._place(other)) for one, other in found]
        if spans or not self.tree.root_node.has_error:
            broken = (Target("code", (span,), fixes=True, broken=True) for span in spans[:MOST_FAULTS])
            return tuple(target for target in broken if self.fits(target.spans))
        row = _line(self.snapshot.lines, start[0])
        return (Target("line", (row,), fixes=True, broken=True, error_elsewhere=True),) if self.fits((row,)) else ()

    def diagnosed(self, diagnostics: Sequence[Extent]) -> tuple[Target, ...]:
        """Return the nodes that diagnostics are about, each by itself; those of one name together."""
        lines = self.snapshot.lines
        inside = [(number, span) for number, span in enumerate(diagnostics) if self._has(span)]
        groups: dict[object, list[tuple[int, Extent]]] = {}
        for number, span in inside:
            text = text_between(lines, *span)
            groups.setdefault(text if text.isidentifier() else number, []).append((number, span))
        found = []
        for group in list(groups.values())[:MOST_FAULTS]:
            numbers = tuple(number for number, _ in group)
            spans = tuple(sorted({span for _, span in group}))
            if len(spans) > 1 and self.fits(spans) and _are_disjoint(spans):
                found.append(Target("name", spans, fixes=True, repeats=True, diagnostics=numbers))
            else:
                part = next(iter(self.parts(*spans[0])), None)
                span = spans[0] if part is None else self.target_of(part).spans[0]
                found.append(Target("code", (span,), fixes=True, diagnostics=numbers[:1]))
        if len(found) > 1 and all(len(target.spans) == 1 for target in found):
            found += self._together(found)
        return tuple(target for target in found if self.fits(target.spans))

    def _together(self, targets: Iterable[Target]) -> list[Target]:
        """Return all targets as one, if they are disjoint."""
        ordered = sorted(targets, key=lambda target: target.spans)
        spans = tuple(target.spans[0] for target in ordered)
        numbers = tuple(number for target in ordered for number in target.diagnostics)
        return [Target("code", spans, fixes=True, diagnostics=numbers)] if _are_disjoint(spans) else []

    def fits(self, spans: Sequence[Extent]) -> bool:
        """Return whether the model can read all spans, and the text between them, as a whole."""
        lines = self.snapshot.lines
        between = sum(len(text_between(lines, one[1], other[0])) for one, other in pairwise(spans))
        size = sum(len(text_between(lines, *span)) for span in spans)
        return 0 < size <= MOST_CHARS and between <= MOST_BETWEEN

    def _has(self, span: Extent) -> bool:
        rows = self.first, self.first + self.tree.root_node.end_point[0]
        return rows[0] <= span[0][0] and span[1][0] <= rows[1] and span[0] < span[1]

    def _place(self, point: TreePoint) -> Place:
        row, column = self.first + point[0], point[1]
        return row, len(self.snapshot.lines[row].encode()[:column].decode("utf-8", "ignore"))


def _trimmed(lines: Sequence[str], start: Place, end: Place) -> Extent:
    """Return a selection without the blanks and line breaks at its ends; a blank one is left as it is."""
    left, right = start, end
    while left < right and not lines[left[0]][left[1] :].strip():
        left = (left[0] + 1, 0)
    while left < right and not lines[right[0]][: right[1]].strip():
        right = (right[0] - 1, len(lines[right[0] - 1]))
    if left >= right:
        return start, end
    row, column = left
    column += len(lines[row][column:]) - len(lines[row][column:].lstrip())
    last = len(lines[right[0]][: right[1]].rstrip())
    return ((row, column), (right[0], last)) if (row, column) < (right[0], last) else (start, end)


def _line(lines: Sequence[str], row: int) -> Extent:
    content = line_content(lines[row])
    return (row, len(content) - len(content.lstrip())), (row, len(content.rstrip()))


def _widened(lines: Sequence[str], start: Place, end: Place) -> Extent:
    """Return a part of a line with whole words, up to the next token; the whole line for a blank part."""
    row, (first, last) = start[0], (start[1], end[1])
    text = lines[row]
    while first > 0 and text[first - 1].isalnum() and text[first].isalnum():
        first -= 1
    while last < len(text) and text[last - 1].isalnum() and text[last].isalnum():
        last += 1
    if not text[first:last].strip():
        return _line(lines, row)
    content = line_content(text).rstrip()
    first += len(text[first:last]) - len(text[first:last].lstrip())
    while last < len(content) and content[last].isspace():
        last += 1
    return (row, first), (row, min(last, len(content)))


def _are_disjoint(spans: Sequence[Extent]) -> bool:
    return all(one[1] < other[0] for one, other in pairwise(spans))
