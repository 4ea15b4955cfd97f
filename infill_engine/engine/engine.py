"""From a request to its answer, whatever makes the proposals: cache, hole, drafts, cleaning and ranking.

answers ──hit──▶ answer
  │ miss
  ▼
hole and drafts ──▶ proposals of a model here or elsewhere ──▶ clean ──▶ rank ──▶ answer

If memory runs out or a precision overflows, the model gives up something, and at last retrieved texts serve alone.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from cachetools import LRUCache

from infill_engine.budget.deadline import Deadline, now, since
from infill_engine.budget.work import Observer
from infill_engine.context.drafts.find_drafts import find_drafts
from infill_engine.context.hole import hole_at
from infill_engine.edits.by_model.proposals import edits_from, proposals_of
from infill_engine.edits.by_model.regions import regions
from infill_engine.edits.types import NextEditRequest, NextEdits, Region
from infill_engine.engine.answer_cache import AnswerCache
from infill_engine.engine.draft_answers import calibration_of_retrieval
from infill_engine.engine.loaded_model import LoadedModel
from infill_engine.errors import InputError
from infill_engine.ranking.alternatives import alternatives
from infill_engine.ranking.calibration import Calibration
from infill_engine.ranking.rank import rank
from infill_engine.ranking.rewrites import likeliest
from infill_engine.ranking.syntax_check import prepare
from infill_engine.sampling.proposals import Proposals, first_hole, in_all_holes, is_unscored
from infill_engine.sampling.proposer import Changes, Proposer
from infill_engine.types import (
    ONE_HOLE,
    AlternativesRequest,
    Answer,
    Candidate,
    Draft,
    InfillRequest,
    ProposedText,
    Reason,
    Removal,
)

T = TypeVar("T")
KEPT_ANSWERS = 512
KEPT_OTHERS = 16  # answers with alternatives, and regions that a next edit was searched in
PART_MS = 300.0  # of a search that continues, after which it says what it has found


class Engine(LoadedModel):
    """Answers requests with the texts of a proposer, and keeps the answers. See `engine_loading.load_engine`.

    Not thread-safe: one request at a time.
    """

    def __init__(self, proposer: Proposer, name: str, calibration: Calibration) -> None:
        super().__init__(proposer, name, calibration)
        self.removed: tuple[Removal, ...] = ()  # on the way to the last answer, in this order; () if it was kept
        self.forget_answers()

    def forget_answers(self) -> None:
        """Forget all answers, but not which changes of a region are possible."""
        self.answers = AnswerCache(KEPT_ANSWERS)
        self._alternatives: LRUCache[AlternativesRequest, Answer] = LRUCache(KEPT_OTHERS)
        self._changes: LRUCache[Region, Changes] = LRUCache(KEPT_OTHERS)

    def infill(self, request: InfillRequest, deadline: Deadline) -> tuple[Candidate, ...]:
        """Return candidates for the request's hole, best first; empty if none were found in time."""
        return self.answer(request, deadline).candidates

    def answer(self, request: InfillRequest, deadline: Deadline, observer: Observer | None = None) -> Answer:
        """Return the cached answer to the request, or a new one, with candidates or the reason there are none.

        `observer` sees the state after every step. Raises InputError.
        """
        started, self.removed = now(), ()
        if request.candidates < 1:
            raise InputError("ask for at least one candidate")
        show_from = self._show_from(request)
        answer = self.answers.get(request, show_from)
        if answer is None:
            answer = self._compute(request, deadline, observer)
            if answer.reason not in (Reason.CANCELLED, Reason.DEADLINE):
                self.answers.put(request, answer)
        return replace(answer, elapsed_ms=since(started), show_from=show_from)

    def alternatives(self, request: AlternativesRequest, deadline: Deadline) -> Answer:
        """Return other texts for the request's holes, the likeliest first, or the reason there are none.

        Raises InputError.
        """
        started, holes = now(), request.holes
        if not all(gap.known for gap in holes.gaps):
            raise InputError("holes without text between them are one hole; join them")
        if (known := self._alternatives.get(request)) is not None:
            return known
        one_at_a_time = bool(holes.gaps) and not self.proposer.can.fills_several
        asked = first_hole(request) if one_at_a_time else request
        if asked is None:
            return Answer(reason=Reason.UNSUPPORTED)
        hole = request.hole or hole_at(request.prefix, request.suffix, request.language)
        prepare(request)
        # The replaced text is among the drafts, so that every model scores it.
        drafts = tuple(map(Draft, asked.holes.replaced)) if not asked.holes.gaps else ()
        found = self._propose(asked, hole, drafts, asked.holes, deadline)
        if one_at_a_time:
            found = in_all_holes(found, holes)
        answer = self._ranked(found, lambda those: alternatives(those, request, hole, self.calibration), deadline)
        if answer.final:
            self._alternatives[request] = answer
        return replace(answer, elapsed_ms=since(started))

    def next_edits(self, request: NextEditRequest, deadline: Deadline) -> NextEdits:
        """Return the edits of the first region in which the model finds some, or the reason there are none."""
        if not self.proposer.can.rewrites:
            return NextEdits(reason=Reason.UNSUPPORTED)
        show_from = edits_from(self.calibration.threshold(request.show_from))
        for region in regions(request):
            changes = self._changes.get(region)
            if changes is None:
                changes = self._run(self.proposer.rewrite(region), deadline) or Changes(final=False)
                if changes.final:
                    self._changes[region] = changes
            if deadline.cancelled():
                return NextEdits(reason=Reason.CANCELLED)
            found = proposals_of(request, region, likeliest(changes.found, region), show_from)
            if found:
                return NextEdits(found)
            if not deadline.remaining_ms() > 0:
                return NextEdits(reason=Reason.DEADLINE)
        return NextEdits(reason=Reason.BLANK)

    def continue_search(self, request: InfillRequest, deadline: Deadline, *, awaited: bool = False) -> Iterator[Answer]:
        """Go on with the last search at this place, so that the next answers here are better.

        Yields what is found, as `answer` returns it. A model whose searches begin anew gets one more try if the answer
        is `awaited`: the user would still see it.
        """
        if self.proposer.can.goes_on:
            found = self._in_parts(request, deadline)
        elif awaited and self.answers.get(request, self._show_from(request)) is None:
            found = iter((self._compute(request, deadline),))
        else:
            return
        for answer in found:
            if answer.candidates:
                self.answers.put(request, answer)
                yield replace(answer, show_from=self._show_from(request))

    def fresh(self, request: InfillRequest, deadline: Deadline, observer: Observer | None = None) -> Answer:
        """Like `answer`, but computed from the beginning and not kept, for measurements."""
        self.proposer.forget_predictions()
        return self._compute(request, deadline, observer)

    def warm_up(self) -> None:
        """Answer a few made-up requests: libraries initialise, and the cost of a step becomes known.

        A message for the user waits for the first real request.
        """
        for rehearsal in self.proposer.warm_up():
            self.tell(self._compute(rehearsal.request, Deadline.after_ms(rehearsal.budget_ms)).user_message)

    def _in_parts(self, request: InfillRequest, deadline: Deadline) -> Iterator[Answer]:
        """Search a part at a time, until one changes nothing or there is no time for another."""
        before: Answer | None = None
        while before is None or deadline.allows(PART_MS / 2):
            reads = before is not None and before.incomplete_context  # which may take longer than a part
            answer = self._compute(request, deadline if reads else deadline.within_ms(PART_MS))
            if before is not None and _texts(answer) == _texts(before):
                return
            before = answer
            yield answer

    def _show_from(self, request: InfillRequest) -> float:
        return self.calibration.threshold(request.show_from)

    def _compute(self, request: InfillRequest, deadline: Deadline, observer: Observer | None = None) -> Answer:
        """Return a new answer, which is not kept."""
        if deadline.cancelled():
            return Answer(reason=Reason.CANCELLED, final=False)
        hole = request.hole or hole_at(request.prefix, request.suffix, request.language)
        prepare(request)  # now, so that the time kept free for ranking does not depend on the document
        drafts = request.drafts
        if drafts is None:
            sides = request.prefix, request.suffix
            drafts = find_drafts(*sides, sides, hole, request.language)

        def ranked(proposals: list[ProposedText]) -> tuple[Candidate, ...]:
            # As while the model is being loaded: its own calibration knows texts that it had time to read.
            calibration = calibration_of_retrieval() if all(map(is_unscored, proposals)) else self.calibration
            candidates, self.removed = rank(proposals, request, hole, calibration)
            return candidates

        found = self._propose(request, hole, drafts, ONE_HOLE, deadline, observer)
        answer = self._ranked(found, ranked, deadline)
        cut_short = not request.explicit and (self._refused or not found.final)
        return answer if answer.reason is Reason.CANCELLED else replace(answer, cut_short=cut_short)

    def _ranked(
        self, found: Proposals, ranked: Callable[[list[ProposedText]], tuple[Candidate, ...]], deadline: Deadline
    ) -> Answer:
        """Return the answer that `ranked` makes of proposals."""
        answer = Answer(
            (),
            None,
            found.read_ms,
            found.compute_ms,
            incomplete_context=found.incomplete_context,
            user_message=found.user_message,
        )
        if deadline.cancelled():
            return replace(answer, reason=Reason.CANCELLED, final=False)
        began = now()
        candidates = ranked(found.proposals or [])
        self.finish_margin.observe(since(began))
        reason = None if candidates else Reason.DEADLINE if found.proposals is None else Reason.BLANK
        final = found.final and not found.incomplete_context and not any(one.partial for one in found.proposals or ())
        return replace(answer, candidates=candidates, reason=reason, final=final)


def _texts(answer: Answer) -> list[tuple[str, float]]:
    return [(candidate.text, candidate.confidence) for candidate in answer.candidates]
