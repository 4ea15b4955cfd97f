"""Places that can be changed as the user has changed others: the likeliest is one proposal, all together another."""

from collections.abc import Sequence
from itertools import pairwise

from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.similar.likelihood import SimilarPlace
from infill_engine.edits.similar.places import similar_places
from infill_engine.edits.types import Kind, Proposal


def propose_similar_places(edit: ParsedEdit) -> list[Proposal]:
    """Return at most two proposals: the best place, and all places that would be shown alone."""
    found = sorted(similar_places(edit), key=lambda place: (-place.confidence, abs(place.distance)))
    if not found:
        return []
    best = found[0]
    proposals = [Proposal(best.edits, "change 1 similar place", best.confidence, Kind.SIMILAR_PLACE)]
    together = _disjoint([place for place in found if place.confidence >= best.confidence / 2])
    if len(together) > 1:
        edits = tuple(sorted(edit for place in together for edit in place.edits))
        certain = sum(place.confidence for place in together) / len(together)
        proposals.append(Proposal(edits, f"change {len(together)} similar places", certain, Kind.SIMILAR_PLACE))
    return proposals


def _disjoint(found: Sequence[SimilarPlace]) -> list[SimilarPlace]:
    kept: list[SimilarPlace] = []
    for place in found:
        edits = sorted(edit for one in (*kept, place) for edit in one.edits)
        if all(one.span.end < other.span.start for one, other in pairwise(edits)):
            kept.append(place)
    return kept
