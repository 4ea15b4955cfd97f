"""Builds the engine's request from a snapshot and a place in it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from infill_engine.context.drafts.find_drafts import find_drafts
from infill_engine.context.hole import hole_at
from infill_engine.context.window import WIDER_CONTEXT_CHARS, window_at
from infill_engine.settings import USUAL_WINDOW, WindowSettings
from infill_engine.text.embedded import language_at
from infill_engine.text.languages import related
from infill_engine.types import (
    AlternativesRequest,
    Gap,
    Hole,
    HoleKind,
    Holes,
    InfillRequest,
    ProjectText,
    Surroundings,
)
from lsp_server.documents.snapshots import Snapshot, text_between
from lsp_server.protocol.positions import Place
from lsp_server.settings.schema import ServerSettings

BEFORE_CHARS = 100_000  # of this file before the cursor, searched for drafts
AFTER_CHARS = 50_000
OTHER_CHARS = 40_000  # of every other open file
OTHER_FILES = 4
NO_PROJECT_TEXT = ProjectText()
SPARE_LINES = 2  # by which an alternative may be longer
LEAST_BLOCK_LINES = 4  # that an alternative to a block may have
LINES_AT_ONCE = 512  # joined at a time, until there are enough characters


def build_request(
    snapshot: Snapshot,
    place: Place,
    settings: ServerSettings,
    others: Iterable[Snapshot] = (),
    project: ProjectText = NO_PROJECT_TEXT,
    window: WindowSettings = USUAL_WINDOW,
    path: str = "",
    paths: Sequence[str] = (),
    indent: str = "",
) -> InfillRequest:
    """Build the request for the hole at `place`.

    `others` are open documents, nearest first. Only those in the same language, or in one searched with it, are used.
    `project` is text of files that are not open, `window` how much text around the place the engine wants, and `path`
    the document's path relative to its project; `paths` are those of the project's other files, nearest first.
    `indent` is a level of indentation as the editor or the project has it.

    Equal text around equal places gives equal requests, so that a request can join a pending one.
    """
    lines, (row, column) = snapshot.lines, place
    prefix, suffix = window_at(lines, row, column, window)
    tree, byte_offset = snapshot.syntax.at(lines, place) or (None, None)
    hole = hole_at(prefix, suffix, snapshot.language, tree, byte_offset)
    before, after = _sides(lines, place)
    sources = [before, after, *_other_files(snapshot, others), project.text]
    drafts = find_drafts(prefix, suffix, sources, hole, language_at(prefix, suffix, snapshot.language), path, paths)
    wider_context = _wider_context(before, after, prefix, suffix)
    return InfillRequest(
        prefix,
        suffix,
        snapshot.language,
        hole,
        drafts,
        settings.candidates,
        settings.show_from,
        indent,
        path=path,
        project_name=project.name,
        wider_context=wider_context,
    )


def build_context(
    snapshot: Snapshot,
    place: Place,
    window: WindowSettings = USUAL_WINDOW,
    project: ProjectText = NO_PROJECT_TEXT,
    path: str = "",
) -> Surroundings:
    """Return the text around `place`, for the engine to prefetch."""
    lines, (row, column) = snapshot.lines, place
    prefix, suffix = window_at(lines, row, column, window)
    wider_context = _wider_context(*_sides(lines, place), prefix, suffix)
    return Surroundings(
        prefix, suffix, snapshot.language, path=path, project_name=project.name, wider_context=wider_context
    )


def build_rewrite(
    snapshot: Snapshot,
    spans: Sequence[tuple[Place, Place]],
    candidates: int,
    window: WindowSettings = USUAL_WINDOW,
    project: ProjectText = NO_PROJECT_TEXT,
    path: str = "",
    *,
    several_lines: bool = False,
    repeats: bool = False,
) -> AlternativesRequest:
    """Build the request for alternatives to the text of `spans`, which are sorted and disjoint.

    With `several_lines`, the text may have several lines, even if it has one now. With `repeats`, all spans get the
    same text.
    """
    lines, start, end = snapshot.lines, spans[0][0], spans[-1][1]
    prefix, _ = window_at(lines, *start, window)
    _, suffix = window_at(lines, *end, window)
    texts = tuple(text_between(lines, *span) for span in spans)
    between = [text_between(lines, one[1], other[0]) for one, other in pairwise(spans)]
    holes = [
        _hole_instead_of(text, prefix, right or suffix, snapshot.language, several_lines=several_lines)
        for text, right in zip(texts, (*between, suffix), strict=True)
    ]
    gaps = (Gap(known, hole, 0 if repeats else None) for known, hole in zip(between, holes[1:], strict=True))
    before, after = _sides(lines, start)[0], _sides(lines, end)[1]
    return AlternativesRequest(
        prefix,
        suffix,
        snapshot.language,
        holes[0],
        Holes(texts, tuple(gaps)),
        candidates,
        path=path,
        project_name=project.name,
        wider_context=_wider_context(before, after, prefix, suffix),
    )


def _hole_instead_of(text: str, prefix: str, suffix: str, language: str, *, several_lines: bool) -> Hole:
    hole, rows = hole_at(prefix, suffix, language), text.count("\n") + 1
    if rows == 1 and not several_lines:
        return replace(hole, kind=HoleKind.LINE if hole.kind is HoleKind.BLOCK else hole.kind, max_lines=1)
    return replace(hole, kind=HoleKind.BLOCK, max_lines=max(LEAST_BLOCK_LINES, rows + SPARE_LINES))


def _wider_context(before: str, after: str, prefix: str, suffix: str) -> tuple[str, str]:
    """Return the text outside the windows on both sides of the cursor, limited to what is sent."""
    return before[: len(before) - len(prefix)][-WIDER_CONTEXT_CHARS:], after[len(suffix) :][:WIDER_CONTEXT_CHARS]


def _sides(lines: tuple[str, ...], place: Place) -> tuple[str, str]:
    """Return the text before and after the cursor, limited to what is searched."""
    row, column = place
    return _up_to(lines, row, lines[row][:column]), _from(lines, row + 1, lines[row][column:], AFTER_CHARS)


def _other_files(snapshot: Snapshot, others: Iterable[Snapshot]) -> Iterator[str]:
    alike = related(snapshot.language)
    related_documents = (other for other in others if other.language in alike and other.uri != snapshot.uri)
    for other, _ in zip(related_documents, range(OTHER_FILES), strict=False):
        yield _from(other.lines, 0, "", OTHER_CHARS)


def _up_to(lines: tuple[str, ...], row: int, left: str) -> str:
    taken = left
    while row > 0 and len(taken) < BEFORE_CHARS:
        taken = "".join(lines[max(row - LINES_AT_ONCE, 0) : row]) + taken
        row -= LINES_AT_ONCE
    return taken[-BEFORE_CHARS:]


def _from(lines: tuple[str, ...], row: int, right: str, most: int) -> str:
    taken = right
    while row < len(lines) and len(taken) < most:
        taken += "".join(lines[row : row + LINES_AT_ONCE])
        row += LINES_AT_ONCE
    return taken[:most]
