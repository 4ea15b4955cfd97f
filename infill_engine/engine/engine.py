"""From a request to its answer, whatever makes the proposals: cache, hole, drafts, cleaning and ranking.

answers ──hit──▶ answer
  │ miss
  ▼
hole and drafts ──▶ proposals of a local or remote model ──▶ clean ──▶ rank ──▶ answer
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from infill_engine.budget.deadline import Deadline, FinishMargin, now, since
from infill_engine.budget.work import Watch
from infill_engine.context.drafts.find_drafts import find_drafts
from infill_engine.context.hole import hole_at
from infill_engine.engine.answer_cache import AnswerCache
from infill_engine.errors import InputError
from infill_engine.ranking.alternatives import alternatives
from infill_engine.ranking.calibration import Calibration
from infill_engine.ranking.rank import Ranking, rank
from infill_engine.sampling.first_hole import first_hole, in_all_holes
from infill_engine.sampling.proposals import Proposals
from infill_engine.settings import WindowSettings
from infill_engine.types import (
    Answer,
    Candidate,
    Draft,
    Eagerness,
    Hole,
    InfillRequest,
    Level,
    Proposal,
    Reason,
    Surroundings,
)

KEPT_ANSWERS = 512
PART_MS = 300.0  # of a search that goes on, after which it says what it has found


class Engine(ABC):
    """Answers requests, and keeps the answers. Not thread-safe: one request at a time."""

    def __init__(self, name: str, calibration: Calibration, finish_margin: FinishMargin) -> None:
        self.name = name
        self.calibration = calibration
        self.finish_margin = finish_margin  # learns how long cleaning and ranking take
        self.answers = AnswerCache(KEPT_ANSWERS)

    @property
    @abstractmethod
    def device(self) -> str:
        """Where the model is: a device of this machine, or the address of a server."""

    @property
    @abstractmethod
    def window(self) -> WindowSettings:
        """How much text around a hole the model can use."""

    @property
    def profile(self) -> str:
        """How the model computes, if that was chosen automatically."""
        return ""

    @property
    def levels(self) -> Mapping[Eagerness, Level]:
        """What each level of eagerness means for the model."""
        return self.calibration.levels

    @property
    def fills_several(self) -> bool:
        """Whether the model fills several holes at once."""
        return False

    @property
    def goes_on(self) -> bool:
        """Whether a search goes on where an earlier one at the same place stopped."""
        return False

    def infill(self, request: InfillRequest, deadline: Deadline) -> tuple[Candidate, ...]:
        """Return candidates for the request's hole, best first; empty if none were found in time."""
        return self.answer(request, deadline).candidates

    def answer(self, request: InfillRequest, deadline: Deadline, watch: Watch | None = None) -> Answer:
        """Return the cached answer to the request, or a new one, with candidates or the reason there are none.

        `watch` sees the state after every step. Raises InputError.
        """
        started = now()
        if request.candidates < 1:
            raise InputError("ask for at least one candidate")
        if not all(gap.known for gap in request.gaps):
            raise InputError("holes without text between them are one hole; join them")
        show_from = self._show_from(request)
        answer = self.answers.get(request, show_from)
        if answer is None:
            answer = self._compute(request, deadline, watch)
            if answer.reason not in (Reason.CANCELLED, Reason.DEADLINE):
                self.answers.put(request, answer)
        return replace(answer, elapsed_ms=since(started), show_from=show_from)

    def deepen(self, request: InfillRequest, deadline: Deadline, *, awaited: bool = False) -> Iterator[Answer]:
        """Go on with the last search at this place, so that the next answers here are better.

        Yields what is found, as `answer` returns it. A model whose searches begin anew gets one more try if the answer
        is `awaited`: the user would still see it.
        """
        if self.goes_on:
            found = self._in_parts(request, deadline)
        elif awaited and self.answers.get(request, self._show_from(request)) is None:
            found = iter((self._compute(request, deadline),))
        else:
            return
        for answer in found:
            if answer.candidates:
                self.answers.put(request, answer)
                yield replace(answer, show_from=self._show_from(request))

    @abstractmethod
    def warm(self, request: InfillRequest, deadline: Deadline) -> None:
        """Read what a later request nearby needs, as far as time allows."""

    @abstractmethod
    def surround(self, surroundings: Surroundings) -> Iterator[None]:
        """Count the text around a document, for requests that name it; yields about every 2 ms."""

    @abstractmethod
    def small_pass(self) -> Callable[[], None] | None:
        """Return a function that runs a small fixed pass and changes nothing; None if nothing is computed here."""

    @abstractmethod
    def _propose(
        self,
        request: InfillRequest,
        hole: Hole,
        drafts: tuple[Draft, ...],
        deadline: Deadline,
        watch: Watch | None = None,
    ) -> Proposals:
        """Return the model's proposals for a hole, and any message for the user."""

    def _in_parts(self, request: InfillRequest, deadline: Deadline) -> Iterator[Answer]:
        """Search a part at a time, until one changes nothing or there is no time for another."""
        before: Answer | None = None
        while before is None or deadline.allows(PART_MS / 2):
            reads = before is not None and before.unread  # which may take longer than a part
            answer = self._compute(request, deadline if reads else deadline.within_ms(PART_MS))
            if before is not None and _texts(answer) == _texts(before):
                return
            before = answer
            yield answer

    def _show_from(self, request: InfillRequest) -> float:
        return self.calibration.threshold(request.show_from)

    def _compute(self, request: InfillRequest, deadline: Deadline, watch: Watch | None = None) -> Answer:
        """Return a new answer, which is not kept."""
        if deadline.cancelled():
            return Answer(reason=Reason.CANCELLED, final=False)
        hole = request.hole or hole_at(request.prefix, request.suffix, request.language)
        one_at_a_time = bool(request.gaps) and not self.fills_several
        asked = first_hole(request) if one_at_a_time else request
        if asked is None:
            return Answer(reason=Reason.UNSUPPORTED)
        found = self._propose(asked, hole, _drafts(asked, hole), deadline, watch)
        if one_at_a_time:
            found = in_all_holes(found, request)
        answer = Answer(
            (), None, found.encode_ms, found.denoise_ms, unread=found.unread, user_message=found.user_message
        )
        if deadline.cancelled():
            return replace(answer, reason=Reason.CANCELLED, final=False)
        began = now()
        candidates, removed = self._ranked(found.proposals or [], request, hole)
        self.finish_margin.observe(since(began))
        reason = None if candidates else Reason.DEADLINE if found.proposals is None else Reason.BLANK
        final = found.final and not found.unread and not any(candidate.partial for candidate in candidates)
        return replace(answer, candidates=candidates, reason=reason, final=final, removed=removed)

    def _ranked(self, proposals: list[Proposal], request: InfillRequest, hole: Hole) -> Ranking:
        if request.replaced or request.gaps:
            return Ranking(alternatives(proposals, request, hole, self.calibration), ())
        return rank(proposals, request, hole, self.calibration)


def _texts(answer: Answer) -> list[tuple[str, float]]:
    return [(candidate.text, candidate.confidence) for candidate in answer.candidates]


def _drafts(request: InfillRequest, hole: Hole) -> tuple[Draft, ...]:
    if request.replaced:  # so that every model scores it
        return () if request.gaps else (Draft(request.replaced[0]),)
    if request.drafts is not None:
        return request.drafts
    return find_drafts(request.prefix, request.suffix, (request.prefix, request.suffix), hole, request.language)
