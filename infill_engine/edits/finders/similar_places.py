"""Places that can be changed as the user has changed others: the likeliest is one proposal, all together another."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise

from infill_engine.edits.changes import make
from infill_engine.edits.checks.replaced import Replaced
from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.similar import by_nodes, by_tokens
from infill_engine.edits.similar.likelihood import SimilarPlace
from infill_engine.edits.types import Edit, Kind, Proposal
from infill_engine.text import lines

MOST_LINES = 8  # of the same shape; with more, the shape says nothing


def propose_similar_places(edit: ParsedEdit) -> list[Proposal]:
    """Return at most two proposals each for lines of the same shape and for all places."""
    found = similar_places(edit)
    shaped = [(place.by_shape, place) for place in found if place.by_shape]
    places = [(place.confidence, place) for place in found]
    return [
        *_proposals(shaped if len(shaped) <= MOST_LINES else [], Kind.SIMILAR_LINE, "line{} of the same shape"),
        *_proposals(places, Kind.SIMILAR_PLACE, "similar place{}"),
    ]


def similar_places(edit: ParsedEdit) -> list[SimilarPlace]:
    """Return the places that are similar by nodes or by tokens. One that is both has the features of both."""
    found: dict[object, SimilarPlace] = {}
    replaced = Replaced(edit.history)
    for place in chain(by_tokens.places(edit), by_nodes.places(edit)):
        if not replaced.allows(edit.after, place.edits):
            continue
        made = _lines_made(place.edits, edit.after.text)
        known = found.get(made)
        if known is not None:
            features, shape = known.features | place.features, max(known.by_shape, place.by_shape)
            place = replace(known, features=features, by_shape=shape)
        found[made] = place
    return list(found.values())


def _lines_made(edits: Sequence[Edit], text: str) -> tuple[int, int, str]:
    """Return where the lines begin and end that edits change, and what they become."""
    start, end = lines.around(text, edits[0].span.start, edits[-1].span.end)
    return start, end, make(text, [edit.change for edit in edits], start, end)


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
