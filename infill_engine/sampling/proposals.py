"""What a sampler returns: the texts it proposes for a hole. Does not import torch."""

from collections.abc import Sequence
from dataclasses import dataclass

from infill_engine.types import Draft, Proposal, Source

UNSCORED_LOGPROB = -1.5  # assumed for each retrieved token that no model has scored


@dataclass(frozen=True, slots=True)
class Proposals:
    """The result of a sampler. `proposals` is None if time ran out before there was one.

    If `final` is False, an equal request is worth another try, for example because time ran out.
    """

    proposals: list[Proposal] | None
    encode_ms: float = 0.0
    denoise_ms: float = 0.0
    incomplete_context: bool = False
    user_message: str = ""
    final: bool = True


def unscored(draft: Draft) -> Proposal:
    """Return a retrieved draft that no model has scored."""
    return Proposal(draft.text, UNSCORED_LOGPROB, 2 * UNSCORED_LOGPROB, tokens=4, draft=draft, source=Source.RETRIEVAL)


def unscored_drafts(drafts: Sequence[Draft]) -> list[Proposal] | None:
    """Return retrieved drafts that no model has scored; None if there are none."""
    return [unscored(draft) for draft in drafts] or None
