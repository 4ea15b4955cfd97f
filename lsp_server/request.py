"""From a snapshot and a place in it to the request the engine answers."""

from collections.abc import Iterable, Iterator

from infill_engine.canvas.hole import hole_at
from infill_engine.context.drafts import find_drafts
from infill_engine.context.window import window_at
from infill_engine.settings import USUAL_WINDOW, WindowSettings
from infill_engine.types import InfillRequest
from lsp_server.convert import Place
from lsp_server.documents import Snapshot
from lsp_server.settings import ServerSettings

BEFORE_CHARS = 100_000  # of this file, left of the cursor, searched for drafts
AFTER_CHARS = 50_000
OTHER_CHARS = 40_000  # of each other open file
OTHER_FILES = 4
BEYOND_CHARS = 20_000  # of this file on either side, sent to the engine to count words in
LINES_AT_ONCE = 512  # joined, until there are enough characters


def build_request(
    snapshot: Snapshot,
    place: Place,
    settings: ServerSettings,
    others: Iterable[Snapshot] = (),
    project: str = "",
    window: WindowSettings = USUAL_WINDOW,
) -> InfillRequest:
    """The request for the hole at `place`. `others` are open documents, nearest first; those of its language count.

    `project` is text of files that are not open, `window` how much text around the place the engine wants.

    Equal text around equal places gives equal requests, so that one can join another that is under way.
    """
    lines, (row, column) = snapshot.lines, place
    prefix, suffix = window_at(lines, row, column, window)
    tree, byte_offset = snapshot.syntax.at(lines, place) or (None, None)
    hole = hole_at(prefix, suffix, snapshot.language, tree, byte_offset)
    sources = list(_sources(snapshot, place, others, project))
    drafts = find_drafts(prefix, suffix, sources, hole)
    before, after = sources[:2]
    beyond = before[: len(before) - len(prefix)][-BEYOND_CHARS:], after[len(suffix) :][:BEYOND_CHARS]
    return InfillRequest(prefix, suffix, snapshot.language, hole, drafts, settings.candidates, beyond)


def build_context(snapshot: Snapshot, place: Place, window: WindowSettings = USUAL_WINDOW) -> InfillRequest:
    """What the engine needs to read the text around `place` ahead of time; the hole does not matter yet."""
    return InfillRequest(*window_at(snapshot.lines, *place, window), snapshot.language)


def _sources(snapshot: Snapshot, place: Place, others: Iterable[Snapshot], project: str) -> Iterator[str]:
    lines, (row, column) = snapshot.lines, place
    yield _up_to(lines, row, lines[row][:column])
    yield _from(lines, row + 1, lines[row][column:], AFTER_CHARS)
    near = (other for other in others if other.language == snapshot.language and other.uri != snapshot.uri)
    for other, _ in zip(near, range(OTHER_FILES), strict=False):
        yield _from(other.lines, 0, "", OTHER_CHARS)
    yield project


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
