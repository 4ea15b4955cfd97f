"""Which lines a model is asked about after an edit, and what it is told.

The lines around the newest edit are one region; its own lines stay as they are. Others are around the cursor, around
the errors that other servers report, and around the lines that are most similar to what was edited.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain

from infill_engine.context.window import WIDER_CONTEXT_CHARS
from infill_engine.edits.by_model.similarity import Similarity
from infill_engine.edits.by_model.unsuitable import has_secret, is_handwritten, is_readable
from infill_engine.edits.changes import changed_hunks
from infill_engine.edits.types import MOST_REGIONS, Change, Diagnostic, NextEditRequest, PastEdit, Region
from infill_engine.text.lines import with_plain_ends
from infill_engine.text.sequences import common_ends
from infill_engine.types import Surroundings

ABOVE, BELOW = 4, 8  # lines around the newest edit
AROUND = 2  # lines around another place
LEAST_SIMILAR = 1.5  # nats
LOOKED_AT = 1500  # lines around the edit
MOST_TOUCHED = 8  # lines of the newest edit
CONTEXT = 2  # lines on either side of a past edit
PREFIX_CHARS = 400
AROUND_CHARS = 1000
MOST_HISTORY = 12  # edits
MOST_CHARS = 1500  # of one of them
MOST_MESSAGE = 120  # characters of an error


def past_edits(path: str, before: str, changes: Sequence[Change]) -> Iterator[PastEdit]:
    """Yield what changes did to whole lines of a text."""
    for start, end, new in changed_hunks(before, changes):
        around = before[max(0, start - AROUND_CHARS) : start], before[end + 1 : end + 1 + AROUND_CHARS]
        old_lines, new_lines = ([f"{line}\n" for line in text.split("\n")] for text in (before[start:end], new))
        top, bottom = common_ends(old_lines, new_lines)
        above = [*whole_lines(around[0])[-CONTEXT:], *old_lines[:top]][-CONTEXT:]
        below = [*old_lines[len(old_lines) - bottom :], *whole_lines(around[1])[:CONTEXT]][:CONTEXT]
        changed = (lines[top : len(lines) - bottom] for lines in (old_lines, new_lines))
        yield PastEdit(path, *map("".join, (*changed, above, below)))


def regions(request: NextEditRequest) -> Iterator[Region]:
    """Yield the regions of a request's text that a model is asked about, that around the newest edit first.

    Edits and errors with a secret, and edits that are too long, are left out; so are regions with a secret.
    """
    text, history = request.text, request.history
    told = tuple(edit for edit in history[-MOST_HISTORY:] if _may_be_told(edit))
    if not told or told[-1] != history[-1] or not is_handwritten(text):
        return
    plain = (error for error in request.diagnostics if not has_secret(error.message))
    errors = sorted(plain, key=lambda error: abs(error.row - request.rows[0]))
    at_cursor = [] if request.cursor is None else [text.count("\n", 0, request.cursor)]
    for start, end, known in _places(text, request.rows, told, [*at_cursor, *(error.row for error in errors)]):
        around = text[max(0, start - PREFIX_CHARS) : end]
        if is_readable(around) and not has_secret(around):
            yield _region(request, start, end, known, told, errors)


def region_of(request: NextEditRequest, start: int, end: int) -> Region:
    """Return some whole lines of a request's text as a region, all of which may change."""
    return _region(request, start, end, (start, start), request.history, ())


def _region(
    request: NextEditRequest,
    start: int,
    end: int,
    known: tuple[int, int],
    history: tuple[PastEdit, ...],
    errors: Sequence[Diagnostic],
) -> Region:
    text = request.text
    first, count = (with_plain_ends(text[slice(*span)]).count("\n") for span in ((start, known[0]), known))
    around = Surroundings(
        with_plain_ends(text[max(0, start - PREFIX_CHARS) : start]),
        "",
        request.language,
        path=request.path,
        project_name=request.project_name,
        wider_context=(text[max(0, start - WIDER_CONTEXT_CHARS) : start], text[end : end + WIDER_CONTEXT_CHARS]),
    )
    lines = with_plain_ends(text[start:end]).split("\n")[:-1]
    return Region(start, tuple(lines), (first, first + count), around, history, _inside(text, start, end, errors))


def _places(
    text: str, rows: tuple[int, int], history: Sequence[PastEdit], others: Sequence[int]
) -> list[tuple[int, int, tuple[int, int]]]:
    """Return the start and end of each region, and the span in it that stays, all as offsets.

    The `rows` [first, last) were edited last. `others` are rows where a change is likely, the likeliest first.
    """
    lines, (first, last) = whole_lines(text), rows
    if last - first > MOST_TOUCHED:
        return []
    starts = [0, *accumulate(map(len, lines))]
    top, bottom = max(0, first - ABOVE), min(len(lines), last + BELOW)
    found = [(starts[top], starts[bottom], (starts[min(first, bottom)], starts[min(last, bottom)]))]
    taken = set(range(top, bottom))
    for row in chain(others, _similar(lines, first, last, history)):
        if len(found) >= MOST_REGIONS:
            break
        if row not in taken and 0 <= row < len(lines):
            start = next(at for at in range(row, -1, -1) if at == max(0, row - AROUND) or at - 1 in taken)
            last_row = min(row + AROUND + 1, len(lines))
            end = next(at for at in range(row + 1, last_row + 1) if at == last_row or at in taken)
            taken.update(range(start, end))
            found.append((starts[start], starts[end], (starts[start], starts[start])))
    return found


def _similar(lines: Sequence[str], first: int, last: int, history: Sequence[PastEdit]) -> list[int]:
    """Return the rows of lines that are similar to what was edited last, the most similar first."""
    similarity = Similarity(history)
    rows = (*range(max(0, first - LOOKED_AT), first), *range(last, min(len(lines), last + LOOKED_AT)))
    found = ((-similarity.of(lines[row]), abs(row - first), row) for row in rows)
    return [row for worth, _, row in sorted(found) if -worth >= LEAST_SIMILAR]


def whole_lines(text: str) -> list[str]:
    """Return the lines with their ends. A last one without an end is left out, because a patch has to name it."""
    return re.findall(r".*\n", text)


def _inside(text: str, start: int, end: int, errors: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the errors in a region, with rows that count from its first one."""
    first, count = text.count("\n", 0, start), text.count("\n", start, end)
    return tuple(
        Diagnostic(error.row - first, " ".join(error.message.split())[:MOST_MESSAGE])
        for error in errors
        if 0 <= error.row - first < count
    )


def _may_be_told(edit: PastEdit) -> bool:
    parts = (edit.above, edit.old, edit.new, edit.below)
    return sum(map(len, parts)) <= MOST_CHARS and not any(map(has_secret, parts))
