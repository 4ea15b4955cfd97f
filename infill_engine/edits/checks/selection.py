"""Which of the found proposals are kept, and in which order.

No proposal touches the user's edit or the place where they type, restores the earlier text, adds a syntax error or
breaks a name.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from infill_engine.edits.checks.soundness import is_sound
from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.tokens import WORD
from infill_engine.edits.types import Edit, Proposal, Span, applied
from infill_engine.text import syntax


def selected(edit: ParsedEdit, found: Iterable[Proposal]) -> list[Proposal]:
    """Return the proposals that may be shown: those of the kinds that come first, then the rest, each best first."""
    return _distinct(_sound(edit, _clean(edit, found)))


def _clean(edit: ParsedEdit, found: Iterable[Proposal]) -> Iterator[Proposal]:
    """Yield the proposals with sorted edits. Leave out those that change nothing, overlap, or touch the cursor."""
    text, cursor = edit.after.text, edit.cursor
    for proposal in found:
        edits = tuple(sorted({one for one in proposal.edits if one.new != one.span.text}))
        disjoint = all(one.span.end <= other.span.start for one, other in pairwise(edits))
        if not edits or not disjoint or (cursor is not None and any(one.span.replaces(cursor) for one in edits)):
            continue
        if all(text[one.span.start : one.span.end] == one.span.text for one in edits):
            yield replace(proposal, edits=edits)


def _sound(edit: ParsedEdit, found: Iterable[Proposal]) -> Iterator[Proposal]:
    """Yield the proposals that add no syntax error, break no name, and do not restore the text before the edit."""
    after, faults = edit.after, syntax.faults(edit.after.tree)
    written = {word for _, new in edit.history for word in WORD.findall(new)}
    for proposal in found:
        text = applied(after.text, proposal.edits)
        if text is None or text == edit.before.text:
            continue
        made = after.changed(text, [one.change for one in proposal.edits])
        known = None if proposal.kind.has_values_to_write else written
        if syntax.faults(made.tree) <= faults and is_sound(after, made, proposal.edits, known):
            yield proposal


def _distinct(found: Iterable[Proposal]) -> list[Proposal]:
    """Return the best of the proposals with equal edits, in order. What repeats the edit is left out where something
    is necessary: it would be a part of that, or something else."""
    best: dict[tuple[Edit, ...], Proposal] = {}
    for proposal in found:
        known = best.get(proposal.edits)
        if known is None or known.confidence < proposal.confidence:
            best[proposal.edits] = proposal
    ordered = sorted(best.values(), key=lambda proposal: (not proposal.kind.comes_first, -proposal.confidence))
    necessary = [edit.span for one in ordered if one.kind.is_necessary for edit in one.edits]
    return [one for one in ordered if not one.kind.follows_example or not _touches(one, necessary)]


def _touches(proposal: Proposal, spans: Sequence[Span]) -> bool:
    return any(edit.span.start <= span.end and span.start <= edit.span.end for edit in proposal.edits for span in spans)
