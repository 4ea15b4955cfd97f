"""Answers by request, and what remains of an answer while its user types it."""

from collections import deque
from dataclasses import replace

from cachetools import LRUCache

from infill_engine.text.lines import with_plain_ends
from infill_engine.types import Answer, Candidate, InfillRequest, Source

LONGEST_TYPED = 64  # characters typed into a candidate before a fresh look is worth more
RECENT = 16  # answers whose candidates may be typed into


class AnswerCache:
    """Remembers answers, so that an equal request gets an equal answer and typing through one needs no model call."""

    def __init__(self, size: int) -> None:
        self._answers: LRUCache[InfillRequest, Answer] = LRUCache(size)
        self._recent: deque[tuple[InfillRequest, Answer]] = deque(maxlen=RECENT)

    def get(self, request: InfillRequest, show_from: float) -> Answer | None:
        """The answer to an equal request, or what is left of an answer whose candidate has been typed into.

        Where the best that is left is less sure than `show_from`, nobody was shown it, and a fresh look, which sees
        what has been typed since, is worth more.
        """
        found = self._answers.get(request)
        if found is not None:
            return replace(found, cached=True, encode_ms=0.0, denoise_ms=0.0)
        continued = self._typed_through(request, show_from)
        if continued is not None:
            # Kept under the new request too: the same position must go on giving the same candidates.
            self.put(request, continued)
        return continued

    def put(self, request: InfillRequest, answer: Answer) -> None:
        """Remembers an answer. One that is not final may be typed into, but an equal request is worth another try."""
        kept = _key(request)
        self._recent.append((kept, answer))
        if answer.final:
            self._answers[kept] = answer

    def _typed_through(self, request: InfillRequest, show_from: float) -> Answer | None:
        for earlier, answer in reversed(self._recent):
            typed = _typed_between(earlier, request)
            if typed is None:
                continue
            kept = tuple(
                _rest_of(candidate, typed)
                for candidate in answer.candidates
                if candidate.text.startswith(typed) and len(candidate.text) > len(typed)
            )
            if kept:
                sure = max(candidate.confidence for candidate in kept) >= show_from
                return Answer(candidates=kept, cached=True) if sure else None
        return None


def _key(request: InfillRequest) -> InfillRequest:
    """An equal request that holds on to little memory."""
    return replace(request, beyond=("", ""))


def _typed_between(earlier: InfillRequest, now: InfillRequest) -> str | None:
    """What was typed at the cursor since `earlier`, if nothing else changed."""
    if earlier.suffix != now.suffix or earlier.language != now.language or earlier.candidates != now.candidates:
        return None
    typed = len(now.prefix) - len(earlier.prefix)
    # The windows begin at the same place as long as their left ends agree.
    if not 0 < typed <= LONGEST_TYPED or not now.prefix.startswith(earlier.prefix):
        return None
    return with_plain_ends(now.prefix[-typed:])  # as candidates end their lines


def _rest_of(candidate: Candidate, typed: str) -> Candidate:
    return replace(candidate, text=candidate.text[len(typed) :], source=Source.TYPED_THROUGH)
