"""What a model's answer proposes, and from which confidence it is shown."""

from collections.abc import Iterable, Sequence

from infill_engine.edits.changes import trimmed
from infill_engine.edits.checks.replaced import Replaced
from infill_engine.edits.checks.soundness import is_sound
from infill_engine.edits.parsed_text import ParsedText
from infill_engine.edits.types import (
    Change,
    Edit,
    Kind,
    NextEditRequest,
    Proposal,
    Region,
    ScoredChange,
    Span,
    applied,
    counted,
)
from infill_engine.text.sequences import common_ends
from infill_engine.text.validity import faults_of

# What a wrong next edit costs beside a wrong completion: it is not where the user is looking. With the default model's
# 0.25, proposals are made from 0.3, and 97 % of finished texts stay silent.
DEARER = 9 / 7


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
    source = ParsedText.parse(text, language) if found else None
    faults = faults_of(text, language) if found else 0
    replaced = Replaced([(edit.old, edit.new) for edit in region.history])
    return tuple(
        proposal
        for proposal in found
        if not (cursor is not None and proposal.edits[0].span.replaces(cursor))
        and (after := applied(text, proposal.edits)) is not None
        and faults_of(after, language) <= faults
        and (source is None or _keeps_names(source, after, proposal.edits, replaced))
    )


def _keeps_names(source: ParsedText, after: str, edits: Sequence[Edit], replaced: Replaced) -> bool:
    """Return whether names mean as much after edits as before, and none goes on with a rename."""
    return (
        not replaced.renames(source, edits)
        and replaced.allows(source, edits)
        and is_sound(source, source.changed(after, [edit.change for edit in edits]), edits)
    )


def proposal_of(text: str, region: Region, change: ScoredChange, confidence: float) -> Proposal | None:
    """Return the proposal that makes a change of a region; None if nothing changes or line ends are mixed."""
    old = "".join(f"{line}\n" for line in region.lines)
    end = next((end for end in ("\n", "\r\n") if text.startswith(old.replace("\n", end), region.start)), None)
    if end is None:
        return None
    lines, others = ([f"{line}{end}" for line in each] for each in (region.lines, region.with_change(change)))
    top, bottom = common_ends(lines, others)
    removed, inserted = lines[top : len(lines) - bottom], others[top : len(others) - bottom]
    start = region.start + sum(map(len, lines[:top]))
    made = Change(0, len("".join(removed)), "".join(inserted))
    if removed and inserted:  # whole lines are removed or inserted as such
        made = next(iter(trimmed("".join(removed), [made])))
    elif not removed and not inserted:
        return None
    span = Span(start + made.start, start + made.end, "".join(removed)[made.start : made.end])
    verb = "insert" if not removed else "remove" if not inserted else "change"
    label = f"{verb} {counted(max(len(removed), len(inserted)), 'line')}"
    return Proposal((Edit(span, made.new),), label, confidence, Kind.MODEL)
