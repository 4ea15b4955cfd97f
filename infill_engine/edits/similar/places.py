"""All places that are similar to an edited one, whichever way they are found."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from infill_engine.edits.changes import make
from infill_engine.edits.checks.replaced import Replaced
from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.similar import by_nodes, by_tokens
from infill_engine.edits.similar.likelihood import SimilarPlace
from infill_engine.edits.types import Edit
from infill_engine.text import lines


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
