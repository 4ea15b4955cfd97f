"""Answers by request, and the remainder of an answer while the user types it."""

from collections import deque
from dataclasses import replace

from cachetools import LRUCache

from infill_engine.text.lines import is_one_key, with_plain_ends
from infill_engine.types import Answer, Candidate, InfillRequest, Source

LONGEST_TYPED = 64  # characters typed into a candidate before a new computation is worth more
RECENT = 16  # answers whose candidates may be typed through


class AnswerCache:
    """Remembers answers: an equal request gets an equal answer, and typing through a candidate needs no model call."""

    def __init__(self, size: int) -> None:
        self._answers: LRUCache[InfillRequest, Answer] = LRUCache(size)
        self._recent: deque[tuple[InfillRequest, Answer]] = deque(maxlen=RECENT)

    def get(self, request: InfillRequest, show_from: float) -> Answer | None:
        """Return the answer to an equal request, or the remainder of an answer whose candidate is being typed.

        If the best remainder has less confidence than `show_from`, it was never shown. Then the result is None: a new
        computation that sees the typed text is worth more. It is also None if an explicit request would get more than
        an answer that was cut short.
        """
        found = self._answers.get(request)
        if found is not None and _serves(found, request):
            return replace(found, cached=True, read_ms=0.0, compute_ms=0.0)
        continued = self._typed_through(request, show_from)
        if continued is not None:
            # Also kept under the new request: the same position must keep giving the same candidates.
            self.put(request, continued)
        return continued

    def put(self, request: InfillRequest, answer: Answer) -> None:
        """Remember an answer. One that is not final may be typed through, but an equal request is computed again."""
        kept = _key(request)
        self._recent.append((kept, answer))
        if answer.final:
            self._answers[kept] = answer

    def _typed_through(self, request: InfillRequest, show_from: float) -> Answer | None:
        for earlier, answer in reversed(self._recent):
            typed = _typed_between(earlier, request) if _serves(answer, request) else None
            if typed is None:
                continue
            kept = tuple(
                _rest_of(candidate, typed)
                for candidate in answer.candidates
                if candidate.text.startswith(typed) and len(candidate.text) > len(typed)
            )
            if kept:
                sure = max(candidate.confidence for candidate in kept) >= show_from
                return Answer(candidates=kept, cached=True, cut_short=answer.cut_short) if sure else None
        return None


def _serves(answer: Answer, request: InfillRequest) -> bool:
    return not (answer.cut_short and request.explicit)


def _key(request: InfillRequest) -> InfillRequest:
    """Return an equal request that uses little memory."""
    return replace(request, wider_context=("", ""))


def _typed_between(earlier: InfillRequest, now: InfillRequest) -> str | None:
    """What was typed at the cursor since `earlier`, if nothing else changed."""
    if earlier.suffix != now.suffix or earlier.language != now.language or earlier.candidates != now.candidates:
        return None
    typed = len(now.prefix) - len(earlier.prefix)
    # If the left ends agree, both windows begin at the same place.
    if not 0 < typed <= LONGEST_TYPED or not now.prefix.startswith(earlier.prefix):
        return None
    return with_plain_ends(now.prefix[-typed:])  # candidates end their lines this way too


def _rest_of(candidate: Candidate, typed: str) -> Candidate:
    """Return what is left of a candidate. One that was too short to be shown has not been typed through."""
    source = candidate.source if is_one_key(candidate.text) else Source.TYPED_THROUGH
    return replace(candidate, text=candidate.text[len(typed) :], source=source)
