"""What a sampler returns: the texts it proposes for a hole. Needs no torch."""

from collections.abc import Sequence
from dataclasses import dataclass

from infill_engine.types import Draft, Proposal, Source

UNREAD_LOGPROB = -1.5  # of a retrieved token that no model has scored


@dataclass(frozen=True, slots=True)
class Proposals:
    """What a model came to. `proposals` is None where there was no time to begin.

    Where `final` is False, an equal request is worth another try, as it is where time ran out.
    """

    proposals: list[Proposal] | None
    encode_ms: float = 0.0
    denoise_ms: float = 0.0
    unread: bool = False
    user_message: str = ""
    final: bool = True


def unscored(draft: Draft) -> Proposal:
    """A copy that no model has looked at."""
    return Proposal(draft.text, UNREAD_LOGPROB, 2 * UNREAD_LOGPROB, tokens=4, draft=draft, source=Source.RETRIEVAL)


def unread(drafts: Sequence[Draft]) -> list[Proposal] | None:
    """Copies that no model has looked at; None if there are none."""
    return [unscored(draft) for draft in drafts] or None
