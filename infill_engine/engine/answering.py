"""From a request to its answer, for any engine that makes proposals: cache, hole, drafts, cleaning and ranking.

answers ──hit──▶ answer
  │ miss
  ▼
hole and drafts ──▶ proposals of a local or remote model ──▶ clean ──▶ rank ──▶ answer
"""

from collections.abc import Callable
from dataclasses import replace

from infill_engine.budget.deadline import Deadline, FinishMargin, now, since
from infill_engine.context.drafts.find_drafts import find_drafts
from infill_engine.context.hole import hole_at
from infill_engine.engine.answer_cache import AnswerCache
from infill_engine.errors import InputError
from infill_engine.ranking.alternatives import alternatives
from infill_engine.ranking.calibration import Calibration
from infill_engine.ranking.cleanup import clean
from infill_engine.ranking.rank import rank
from infill_engine.sampling.first_hole import all_holes, first_hole
from infill_engine.sampling.proposals import Proposals
from infill_engine.types import Answer, Candidate, Draft, Hole, InfillRequest, Proposal, Reason

KEPT_ANSWERS = 512


Propose = Callable[[InfillRequest, Hole, tuple[Draft, ...], Deadline], Proposals]


class Answering:
    """Keeps the answers of one engine. `finish_margin` learns how long cleaning and ranking take.

    `fills_several` says whether the engine's model fills several holes at once.
    """

    def __init__(
        self, calibration: Calibration, finish_margin: FinishMargin, fills_several: Callable[[], bool] = lambda: False
    ) -> None:
        self._fills_several = fills_several
        self.answers = AnswerCache(KEPT_ANSWERS)
        self._calibration = calibration
        self._finish_margin = finish_margin

    def answer(self, request: InfillRequest, deadline: Deadline, propose: Propose) -> Answer:
        """Return the cached answer to the request, or a new one, with candidates or the reason there are none."""
        started = now()
        if request.candidates < 1:
            raise InputError("ask for at least one candidate")
        if not all(gap.known for gap in request.gaps):
            raise InputError("holes without text between them are one hole; join them")
        show_from = self._calibration.show_from if request.show_from is None else request.show_from
        answer = self.answers.get(request, show_from)
        if answer is None:
            answer = self.fresh(request, deadline, propose)
            if answer.reason not in (Reason.CANCELLED, Reason.DEADLINE):
                self.answers.put(request, answer)
        return replace(answer, elapsed_ms=since(started), show_from=show_from)

    def deepen(self, request: InfillRequest, deadline: Deadline, propose: Propose) -> None:
        """Search on where the last search at this place stopped. The answer replaces the one that is kept."""
        answer = self.fresh(request, deadline, propose)
        if answer.candidates:
            self.answers.put(request, answer)

    def fresh(self, request: InfillRequest, deadline: Deadline, propose: Propose) -> Answer:
        """Return a new answer, which is not cached."""
        hole = request.hole or hole_at(request.prefix, request.suffix, request.language)
        if deadline.cancelled():
            return Answer(reason=Reason.CANCELLED, final=False)
        asked = request
        if request.gaps and not self._fills_several():
            single = first_hole(request)
            if single is None:
                return Answer(reason=Reason.UNSUPPORTED)
            asked, propose = single, all_holes(propose, request)
        found = propose(asked, hole, _drafts(asked, hole), deadline)
        answer = Answer(
            (), None, found.encode_ms, found.denoise_ms, unread=found.unread, user_message=found.user_message
        )
        if deadline.cancelled():
            return replace(answer, reason=Reason.CANCELLED, final=False)
        began = now()
        candidates = self._ranked(found.proposals or [], request, hole)
        self._finish_margin.observe(since(began))
        reason = None if candidates else Reason.DEADLINE if found.proposals is None else Reason.BLANK
        cut_short = found.unread or any(candidate.partial for candidate in candidates)
        return replace(answer, candidates=candidates, reason=reason, final=found.final and not cut_short)

    def _ranked(self, proposals: list[Proposal], request: InfillRequest, hole: Hole) -> tuple[Candidate, ...]:
        if request.replaced or request.gaps:
            return alternatives(proposals, request, hole, self._calibration)
        return rank(cleaned(proposals, request, hole), request, hole, self._calibration)


def _drafts(request: InfillRequest, hole: Hole) -> tuple[Draft, ...]:
    if request.replaced:  # so that every model scores it
        return () if request.gaps else (Draft(request.replaced[0]),)
    if request.drafts is not None:
        return request.drafts
    return find_drafts(request.prefix, request.suffix, (request.prefix, request.suffix), hole, request.language)


def cleaned(proposals: list[Proposal], request: InfillRequest, hole: Hole) -> list[Proposal]:
    """Return the proposals in the form in which they would be inserted, without those that are empty after cleaning."""
    texts = ((proposal, clean(proposal.text, request, hole)) for proposal in proposals)
    return [replace(proposal, text=text) for proposal, text in texts if text is not None]
