"""Several holes for a model that fills one: possible if all others repeat the first."""

from dataclasses import replace

from infill_engine.sampling.proposals import Proposals
from infill_engine.types import InfillRequest


def first_hole(request: InfillRequest) -> InfillRequest | None:
    """Return a request for the first hole alone; None if several texts have to be found. The others keep their text."""
    if request.free_holes > 1 or not request.replaced:
        return None
    after = "".join(gap.known + text for gap, text in zip(request.gaps, request.replaced[1:], strict=True))
    return replace(request, suffix=after + request.suffix, gaps=(), replaced=request.replaced[:1])


def in_all_holes(found: Proposals, request: InfillRequest) -> Proposals:
    """Return proposals for the first hole, extended to all holes of `request`."""
    if found.proposals is None:
        return found
    fills = [(one.text,) * (1 + len(request.gaps)) for one in found.proposals]
    pairs = zip(found.proposals, fills, strict=True)
    return replace(found, proposals=[replace(one, text=request.middle(texts), fills=texts) for one, texts in pairs])
