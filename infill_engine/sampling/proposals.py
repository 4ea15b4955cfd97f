"""What a sampler returns: the texts it proposes for a hole, or for the first of several. Does not import torch."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from infill_engine.types import AlternativesRequest, Draft, Holes, ProposedText, Source

UNSCORED_LOGPROB = -1.5  # assumed for each retrieved token that no model has scored


@dataclass(frozen=True, slots=True)
class Proposals:
    """The result of a sampler. `proposals` is None if time ran out before there was one.

    If `final` is False, an equal request is worth another try, for example because time ran out.
    """

    proposals: list[ProposedText] | None
    read_ms: float = 0.0
    compute_ms: float = 0.0
    incomplete_context: bool = False
    user_message: str = ""
    final: bool = True


def unscored(draft: Draft) -> ProposedText:
    """Return a retrieved draft that no model has scored."""
    return ProposedText(
        draft.text, UNSCORED_LOGPROB, 2 * UNSCORED_LOGPROB, tokens=4, draft=draft, source=Source.RETRIEVAL
    )


def unscored_drafts(drafts: Sequence[Draft]) -> list[ProposedText] | None:
    """Return retrieved drafts that no model has scored; None if there are none."""
    return [unscored(draft) for draft in drafts] or None


def is_unscored(proposal: ProposedText) -> bool:
    """Return whether a proposal is a retrieved draft that no model has scored."""
    return proposal.draft is not None and proposal == unscored(proposal.draft)


def first_hole(request: AlternativesRequest) -> AlternativesRequest | None:
    """Return a request for the first hole alone; None if several texts have to be found. The others keep their text."""
    holes = request.holes
    if holes.free > 1 or not holes.replaced:
        return None
    after = "".join(gap.known + text for gap, text in zip(holes.gaps, holes.replaced[1:], strict=True))
    return replace(request, suffix=after + request.suffix, holes=Holes(holes.replaced[:1]))


def in_all_holes(found: Proposals, holes: Holes) -> Proposals:
    """Return proposals for the first hole, extended to all holes."""
    if found.proposals is None:
        return found
    fills = [(one.text,) * (1 + len(holes.gaps)) for one in found.proposals]
    pairs = zip(found.proposals, fills, strict=True)
    return replace(found, proposals=[replace(one, text=holes.middle(texts), fills=texts) for one, texts in pairs])
