"""Places that can be changed as the user has changed others: the likeliest is one proposal, all together another.

`propagation` compares the nodes of the newest edit, `repetition` the tokens of recent ones.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, pairwise

from infill_engine.edits.changes import make
from infill_engine.edits.finders import propagation, repetition
from infill_engine.edits.likelihood import Place
from infill_engine.edits.parsed import ParsedEdit
from infill_engine.edits.replaced import Replaced
from infill_engine.edits.types import Change, Edit, Kind, Proposal
from infill_engine.text import lines


def propose_alike(edit: ParsedEdit) -> list[Proposal]:
    """Return at most two proposals: the best place, and all places that would be shown alone."""
    found = sorted(places(edit), key=lambda place: (-place.confidence, abs(place.distance)))
    if not found:
        return []
    best = found[0]
    proposals = [Proposal(best.edits, "change 1 similar place", best.confidence, Kind.ALIKE)]
    together = _disjoint([place for place in found if place.confidence >= best.confidence / 2])
    if len(together) > 1:
        edits = tuple(sorted(edit for place in together for edit in place.edits))
        certain = sum(place.confidence for place in together) / len(together)
        proposals.append(Proposal(edits, f"change {len(together)} similar places", certain, Kind.ALIKE))
    return proposals


def places(edit: ParsedEdit) -> list[Place]:
    """Return the places that either finder knows. One that both know has the features of both."""
    found: dict[object, Place] = {}
    replaced = Replaced(edit.history)
    for place in chain(repetition.places(edit), propagation.places(edit)):
        if not replaced.allows(edit.after, place.edits):
            continue
        made = _lines_made(place.edits, edit.after.text)
        known = found.get(made)
        found[made] = place if known is None else replace(known, features=known.features | place.features)
    return list(found.values())


def _lines_made(edits: Sequence[Edit], text: str) -> tuple[int, int, str]:
    """Return where the lines begin and end that edits change, and what they become."""
    start, end = lines.around(text, edits[0].span.start, edits[-1].span.end)
    return start, end, make(text, [Change(edit.span.start, edit.span.end, edit.new) for edit in edits], start, end)


def _disjoint(found: Sequence[Place]) -> list[Place]:
    kept: list[Place] = []
    for place in found:
        edits = sorted(edit for one in (*kept, place) for edit in one.edits)
        if all(one.span.end < other.span.start for one, other in pairwise(edits)):
            kept.append(place)
    return kept
