"""Places that can be changed as the user has changed others: the likeliest is one proposal, all together another."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.similar.likelihood import SimilarPlace
from infill_engine.edits.similar.places import similar_places
from infill_engine.edits.types import Kind, Proposal

MOST_LINES = 8  # of the same shape; with more, the shape says nothing


def propose_similar_places(edit: ParsedEdit) -> list[Proposal]:
    """Return at most two proposals each for lines of the same shape and for all places."""
    found = similar_places(edit)
    lines = [(place.by_shape, place) for place in found if place.by_shape]
    if len(lines) > MOST_LINES:
        lines = []
    places = [(place.confidence, place) for place in found]
    return [
        *_proposals(lines, Kind.SIMILAR_LINE, "line{} of the same shape"),
        *_proposals(places, Kind.SIMILAR_PLACE, "similar place{}"),
    ]


def _proposals(found: Sequence[tuple[float, SimilarPlace]], kind: Kind, what: str) -> Iterator[Proposal]:
    """Yield the likeliest place, and all that are at least half as likely."""
    ordered = sorted(found, key=lambda one: (-one[0], abs(one[1].distance)))
    together = _disjoint([one for one in ordered if one[0] >= ordered[0][0] / 2])
    for group in [together[:1], together][: len(together)]:
        edits = tuple(sorted(edit for _, place in group for edit in place.edits))
        certain = sum(confidence for confidence, _ in group) / len(group)
        yield Proposal(edits, f"change {len(group)} {what.format('s' * (len(group) > 1))}", certain, kind)


def _disjoint(found: Sequence[tuple[float, SimilarPlace]]) -> list[tuple[float, SimilarPlace]]:
    kept: list[tuple[float, SimilarPlace]] = []
    for one in found:
        edits = sorted(edit for _, place in (*kept, one) for edit in place.edits)
        if all(first.span.end < second.span.start for first, second in pairwise(edits)):
            kept.append(one)
    return kept
