"""What a sampler returns: the texts it proposes for a hole. Needs no torch."""

from collections.abc import Sequence
from dataclasses import dataclass

from infill_engine.types import Draft, Guess, Source

UNREAD_LOGPROB = -1.5  # of a retrieved token that no model has scored


@dataclass(frozen=True, slots=True)
class Guessed:
    """What a model came to. `guesses` is None where there was no time to begin.

    Where `final` is False, an equal request is worth another try, as it is where time ran out.
    """

    guesses: list[Guess] | None
    encode_ms: float = 0.0
    denoise_ms: float = 0.0
    unread: bool = False
    trouble: str = ""
    final: bool = True


def unread_guess(draft: Draft) -> Guess:
    """A copy that no model has looked at."""
    return Guess(draft.text, UNREAD_LOGPROB, 2 * UNREAD_LOGPROB, tokens=4, draft=draft, source=Source.RETRIEVAL)


def unread(drafts: Sequence[Draft]) -> list[Guess] | None:
    """Copies that no model has looked at; None if there are none."""
    return [unread_guess(draft) for draft in drafts] or None
