"""Which lines a model is asked about after an edit, what it is told, and what its answer proposes.

The lines around the newest edit are one region; its own lines stay as they are. Others are around the cursor, around
the errors that other servers report, and around the lines that most resemble what was edited.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain

from infill_engine.context.window import WIDER_CONTEXT_CHARS
from infill_engine.edits.changes import changed_hunks, trimmed
from infill_engine.edits.replaced import Replaced
from infill_engine.edits.resemblance import Resemblance
from infill_engine.edits.soundness import is_sound
from infill_engine.edits.source import Source
from infill_engine.edits.types import (
    Change,
    Diagnostic,
    Edit,
    Kind,
    NextEditRequest,
    PastEdit,
    Proposal,
    Region,
    ScoredChange,
    Span,
    applied,
)
from infill_engine.edits.unsuitable import has_secret, is_handwritten, is_readable
from infill_engine.text.lines import with_plain_ends
from infill_engine.text.sequences import common_prefix
from infill_engine.text.validity import faults_of
from infill_engine.types import Surroundings

# What a wrong next edit costs beside a wrong completion: it is not where the user is looking. With the default model's
# 0.25, proposals are made from 0.3, and 97 % of finished texts stay silent.
DEARER = 9 / 7
ABOVE, BELOW = 4, 8  # lines around the newest edit
AROUND = 2  # lines around another place
OTHERS = 2  # places
LEAST_ALIKE = 1.5  # nats
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
        old_lines = [f"{line}\n" for line in before[start:end].split("\n")]
        new_lines = [f"{line}\n" for line in new.split("\n")]
        top = common_prefix(old_lines, new_lines)
        bottom = common_prefix(old_lines[top:][::-1], new_lines[top:][::-1])
        above = [*whole_lines(around[0])[-CONTEXT:], *old_lines[:top]]
        below = [*old_lines[len(old_lines) - bottom :], *whole_lines(around[1])[:CONTEXT]]
        yield PastEdit(
            path,
            "".join(old_lines[top : len(old_lines) - bottom]),
            "".join(new_lines[top : len(new_lines) - bottom]),
            "".join(above[-CONTEXT:]),
            "".join(below[:CONTEXT]),
        )


def regions(request: NextEditRequest) -> Iterator[Region]:
    """Yield the regions of a request's text that a model is asked about, that around the newest edit first.

    Edits and errors with a secret, and edits that are too long, are left out; so are regions with a secret.
    """
    text, history = request.text, request.history
    told = tuple(edit for edit in history[-MOST_HISTORY:] if _may_be_told(edit))
    if not told or told[-1] != history[-1] or not is_handwritten(text):
        return
    first_row = request.rows[0]
    errors = sorted(
        (error for error in request.diagnostics if not has_secret(error.message)),
        key=lambda error: abs(error.row - first_row),
    )
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
    first = _rows(text[start : known[0]])
    around = Surroundings(
        with_plain_ends(text[max(0, start - PREFIX_CHARS) : start]),
        "",
        request.language,
        path=request.path,
        project_text=request.project_text,
        wider_context=(text[max(0, start - WIDER_CONTEXT_CHARS) : start], text[end : end + WIDER_CONTEXT_CHARS]),
    )
    lines = with_plain_ends(text[start:end]).split("\n")[:-1]
    fixed = first, first + _rows(text[slice(*known)])
    return Region(start, tuple(lines), fixed, around, history, _inside(text, start, end, errors))


def _rows(text: str) -> int:
    return with_plain_ends(text).count("\n")


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
    for row in chain(others, _alike(lines, first, last, history)):
        if len(found) > OTHERS:
            break
        if row not in taken and 0 <= row < len(lines):
            start = next(at for at in range(row, -1, -1) if at == max(0, row - AROUND) or at - 1 in taken)
            end = next(
                at for at in range(row + 1, len(lines) + 1) if at in (row + AROUND + 1, len(lines)) or at in taken
            )
            taken.update(range(start, end))
            found.append((starts[start], starts[end], (starts[start], starts[start])))
    return found


def _alike(lines: Sequence[str], first: int, last: int, history: Sequence[PastEdit]) -> list[int]:
    """Return the rows of lines that resemble what was edited last, the most similar first."""
    resemblance = Resemblance(history)
    rows = (*range(max(0, first - LOOKED_AT), first), *range(last, min(len(lines), last + LOOKED_AT)))
    found = ((-resemblance.of(lines[row]), abs(row - first), row) for row in rows)
    return [row for worth, _, row in sorted(found) if -worth >= LEAST_ALIKE]


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


def edits_from(completions_from: float) -> float:
    """Return the least confidence of a next edit where completions appear from `completions_from`.

    A text of confidence p is worth showing if p times what it saves is at least 1 - p times what a wrong one costs. So
    the odds of a threshold are the cost of a wrong text in savings of a right one.
    """
    cost = DEARER * completions_from / max(1 - completions_from, 1e-9)
    return cost / (1 + cost)


def proposals_of(
    request: NextEditRequest, region: Region, changes: Iterable[tuple[ScoredChange, float]], show_from: float
) -> tuple[Proposal, ...]:
    """Return the proposals that changes of a region make, each with its confidence.

    Left out are those less sure than `show_from`, and those that add a syntax error, touch the place where the user is
    typing, break a name, or go on with a rename of the history.
    """
    text, language, cursor = request.text, request.language, request.cursor
    sure = [(change, confidence) for change, confidence in changes if confidence >= show_from]
    found = [made for one in sure if (made := proposal_of(text, region, *one)) is not None]
    source = Source.parse(text, language) if found else None
    faults = faults_of(text, language) if found else 0
    replaced = Replaced([(edit.old, edit.new) for edit in region.history])
    return tuple(
        proposal
        for proposal in found
        if not (cursor is not None and _is_at(proposal.edits[0].span, cursor))
        and (after := applied(text, proposal.edits)) is not None
        and faults_of(after, language) <= faults
        and (source is None or _keeps_names(source, after, proposal.edits, replaced))
    )


def _keeps_names(source: Source, after: str, edits: Sequence[Edit], replaced: Replaced) -> bool:
    """Return whether names mean as much after edits as before, and none goes on with a rename."""
    changes = [Change(edit.span.start, edit.span.end, edit.new) for edit in edits]
    return (
        not replaced.renames(source, edits)
        and replaced.allows(source, edits)
        and is_sound(source, source.changed(after, changes), edits)
    )


def proposal_of(text: str, region: Region, change: ScoredChange, confidence: float) -> Proposal | None:
    """Return the proposal that makes a change of a region; None if nothing changes or line ends are mixed."""
    old = "".join(f"{line}\n" for line in region.lines)
    end = next((end for end in ("\n", "\r\n") if text.startswith(old.replace("\n", end), region.start)), None)
    if end is None:
        return None
    lines, others = ([f"{line}{end}" for line in each] for each in (region.lines, region.with_change(change)))
    top = common_prefix(lines, others)
    bottom = common_prefix(lines[top:][::-1], others[top:][::-1])
    removed, inserted = lines[top : len(lines) - bottom], others[top : len(others) - bottom]
    start = region.start + sum(map(len, lines[:top]))
    made = Change(0, len("".join(removed)), "".join(inserted))
    if removed and inserted:  # whole lines are removed or inserted as such
        made = next(iter(trimmed("".join(removed), [made])))
    elif not removed and not inserted:
        return None
    span = Span(start + made.start, start + made.end, "".join(removed)[made.start : made.end])
    count = max(len(removed), len(inserted))
    verb = "insert" if not removed else "remove" if not inserted else "change"
    label = f"{verb} {count} line{'s' if count > 1 else ''}"
    return Proposal((Edit(span, made.new),), label, confidence, Kind.MODEL)


def _is_at(span: Span, cursor: int) -> bool:
    return span.start <= cursor <= span.end and span.end > span.start
