"""Which lines a model is asked about after an edit, what it is told, and what its answer proposes.

The lines around the newest edit are one region; its own lines stay as they are. Others are around the cursor, around
the errors that other servers report, and around the lines that most resemble what was edited.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain

from infill_engine.context.window import WIDER_CONTEXT_CHARS
from infill_engine.edits.changes import changed_hunks, trimmed
from infill_engine.edits.replaced import Replaced
from infill_engine.edits.resemblance import Resemblance
from infill_engine.edits.soundness import is_sound
from infill_engine.edits.source import Source
from infill_engine.edits.types import Change, Edit, Kind, Proposal, Span, applied
from infill_engine.edits.unsuitable import has_secret, is_handwritten, is_readable
from infill_engine.text.lines import with_plain_ends
from infill_engine.text.sequences import common_prefix
from infill_engine.text.validity import faults_of
from infill_engine.types import Candidate, Diagnostic, Gap, Hole, HoleKind, InfillRequest, PastEdit

SHOW_FROM = 0.3  # the least confidence of a proposal that is made; finished texts stay silent in 97 %
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
HOLE = Hole(HoleKind.BLOCK, ABOVE + BELOW)


@dataclass(frozen=True, slots=True)
class Region:
    """Lines of a text: `start` to `end`, of which those from `known[0]` to `known[1]` stay. Offsets in characters."""

    start: int
    end: int
    known: tuple[int, int] | None = None


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


def regions(text: str, first: int, last: int, history: Sequence[PastEdit], places: Sequence[int] = ()) -> list[Region]:
    """Return the regions of a text whose rows [first, last) were edited last, those around the edit first.

    `places` are other rows where a change is likely, the likeliest first.
    """
    lines = whole_lines(text)
    if last - first > MOST_TOUCHED:
        return []
    starts = [0, *accumulate(map(len, lines))]
    top, bottom = max(0, first - ABOVE), min(len(lines), last + BELOW)
    known = (starts[min(first, bottom)], starts[min(last, bottom)])
    found = [Region(starts[top], starts[bottom], known if known[0] < known[1] else None)]
    taken = set(range(top, bottom))
    for row in chain(places, _alike(lines, first, last, history)):
        if len(found) > OTHERS:
            break
        if row not in taken and 0 <= row < len(lines):
            start = next(at for at in range(row, -1, -1) if at == max(0, row - AROUND) or at - 1 in taken)
            end = next(
                at for at in range(row + 1, len(lines) + 1) if at in (row + AROUND + 1, len(lines)) or at in taken
            )
            taken.update(range(start, end))
            found.append(Region(starts[start], starts[end]))
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


def requests_for(
    text: str,
    rows: tuple[int, int],
    language: str,
    path: str,
    history: Sequence[PastEdit],
    diagnostics: Sequence[Diagnostic] = (),
    project_text: str = "",
    cursor_row: int | None = None,
) -> list[tuple[Region, InfillRequest]]:
    """Return the regions of a text, whose rows were edited last, and the request for each.

    Edits and errors with a secret, and edits that are too long, are left out; so are regions with a secret.
    """
    told = [edit for edit in history[-MOST_HISTORY:] if _may_be_told(edit)]
    if not told or not history or told[-1] != history[-1] or not is_handwritten(text):
        return []
    errors = sorted(
        (error for error in diagnostics if not has_secret(error.message)), key=lambda error: abs(error.row - rows[0])
    )
    places = [*([] if cursor_row is None else [cursor_row]), *(error.row for error in errors)]
    found = [
        (region, request_for(text, region, language, path, told))
        for region in regions(text, *rows, told, places)
        if is_readable(around := text[max(0, region.start - PREFIX_CHARS) : region.end]) and not has_secret(around)
    ]
    return [
        (region, replace(request, project_text=project_text, diagnostics=_inside(text, region, errors)))
        for region, request in found
    ]


def _inside(text: str, region: Region, errors: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the errors in a region, with rows that count from its first one."""
    first, count = text.count("\n", 0, region.start), text.count("\n", region.start, region.end)
    return tuple(
        Diagnostic(error.row - first, " ".join(error.message.split())[:MOST_MESSAGE])
        for error in errors
        if 0 <= error.row - first < count
    )


def _may_be_told(edit: PastEdit) -> bool:
    parts = (edit.above, edit.old, edit.new, edit.below)
    return sum(map(len, parts)) <= MOST_CHARS and not any(map(has_secret, parts))


def request_for(
    text: str, region: Region, language: str, path: str, history: Sequence[PastEdit], candidates: int = 2
) -> InfillRequest:
    """Return the request for the next edit in a region."""
    known = region.known
    parts = [text[region.start : known[0]], text[known[1] : region.end]] if known else [text[region.start : region.end]]
    return InfillRequest(
        with_plain_ends(text[max(0, region.start - PREFIX_CHARS) : region.start]),
        "",
        language,
        HOLE,
        (),
        candidates,
        path=path,
        gaps=(Gap(with_plain_ends(text[known[0] : known[1]]), HOLE),) if known else (),
        replaced=tuple(map(with_plain_ends, parts)),
        history=tuple(history),
        wider_context=(
            text[max(0, region.start - WIDER_CONTEXT_CHARS) : region.start],
            text[region.end : region.end + WIDER_CONTEXT_CHARS],
        ),
    )


def proposals_of(
    text: str,
    language: str,
    region: Region,
    candidates: Sequence[Candidate],
    cursor: int | None,
    history: Sequence[PastEdit] = (),
) -> list[Proposal]:
    """Return the proposals that an answer for a region makes: sure enough, without a new syntax error or a clash.

    No proposal touches the place where the user is typing, breaks a name, or goes on with a rename of the history.
    """
    sure = [one for one in candidates if one.confidence >= SHOW_FROM]
    found = [made for one in sure if (made := proposal_of(text, region, one.text, one.confidence)) is not None]
    source = Source.parse(text, language) if found else None
    faults = faults_of(text, language) if found else 0
    replaced = Replaced([(edit.old, edit.new) for edit in history])
    return [
        proposal
        for proposal in found
        if not (cursor is not None and _is_at(proposal.edits[0].span, cursor))
        and (after := applied(text, proposal.edits)) is not None
        and faults_of(after, language) <= faults
        and (source is None or _keeps_names(source, after, proposal.edits, replaced))
    ]


def _keeps_names(source: Source, after: str, edits: Sequence[Edit], replaced: Replaced) -> bool:
    """Return whether names mean as much after edits as before, and none goes on with a rename."""
    changes = [Change(edit.span.start, edit.span.end, edit.new) for edit in edits]
    return (
        not replaced.renames(source, edits)
        and replaced.allows(source, edits)
        and is_sound(source, source.changed(after, changes), edits)
    )


def proposal_of(text: str, region: Region, new: str, confidence: float) -> Proposal | None:
    """Return the proposal that makes a region `new`; None if that changes nothing."""
    old = text[region.start : region.end]
    ending = "\r\n" if "\r\n" in old else "\n"
    if with_plain_ends(old).replace("\n", ending) != old:
        return None  # line ends are mixed
    lines, others = whole_lines(old), whole_lines(new.replace("\n", ending))
    top = common_prefix(lines, others)
    bottom = common_prefix(lines[top:][::-1], others[top:][::-1])
    removed, inserted = lines[top : len(lines) - bottom], others[top : len(others) - bottom]
    start = region.start + sum(map(len, lines[:top]))
    change = Change(0, len("".join(removed)), "".join(inserted))
    if removed and inserted:  # whole lines are removed or inserted as such
        change = next(iter(trimmed("".join(removed), [change])))
    elif not removed and not inserted:
        return None
    span = Span(start + change.start, start + change.end, "".join(removed)[change.start : change.end])
    count = max(len(removed), len(inserted))
    verb = "insert" if not removed else "remove" if not inserted else "change"
    label = f"{verb} {count} line{'s' if count > 1 else ''}"
    return Proposal((Edit(span, change.new),), label, confidence, Kind.MODEL)


def _is_at(span: Span, cursor: int) -> bool:
    return span.start <= cursor <= span.end and span.end > span.start
