"""From a request to its answer, whatever makes the proposals: cache, hole, drafts, cleaning and ranking.

answers ──hit──▶ answer
  │ miss
  ▼
hole and drafts ──▶ proposals of a model here or elsewhere ──▶ clean ──▶ rank ──▶ answer

If memory runs out or a precision overflows, the model gives up something, and at last retrieved texts serve alone.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

from infill_engine.budget.deadline import Deadline, FinishMargin, now, since
from infill_engine.budget.work import Budget, Job, Observer, OutOfTime
from infill_engine.context.drafts.find_drafts import find_drafts
from infill_engine.context.hole import hole_at
from infill_engine.engine.answer_cache import AnswerCache
from infill_engine.engine.draft_answers import calibration_of_retrieval
from infill_engine.errors import InputError
from infill_engine.models.base import NoNumbersError
from infill_engine.models.registry import RETRIEVAL
from infill_engine.models.runtime.allocator import give_back, is_out_of_memory
from infill_engine.models.runtime.devices import finish
from infill_engine.ranking.alternatives import alternatives
from infill_engine.ranking.calibration import Calibration
from infill_engine.ranking.rank import rank
from infill_engine.ranking.rewrites import rewrites
from infill_engine.ranking.syntax_check import prepare
from infill_engine.sampling.proposals import Proposals, first_hole, in_all_holes, unscored_drafts
from infill_engine.sampling.proposer import Proposer, Retrieval
from infill_engine.settings import EngineSettings, WindowSettings
from infill_engine.types import (
    Answer,
    Candidate,
    Draft,
    Eagerness,
    Hole,
    InfillRequest,
    Level,
    ProjectText,
    Proposal,
    Reason,
    Removal,
)

T = TypeVar("T")
KEPT_ANSWERS = 512
PART_MS = 300.0  # of a search that continues, after which it says what it has found


class Engine:
    """Answers requests with the texts of a proposer, and keeps the answers. See `engine_loading.load_engine`.

    Not thread-safe: one request at a time.
    """

    def __init__(
        self, proposer: Proposer, name: str, calibration: Calibration, settings: EngineSettings | None = None
    ) -> None:
        self.settings = settings or EngineSettings()
        self.proposer = proposer
        self.name = name
        self.calibration = calibration
        self.finish_margin = FinishMargin(self.settings.sampler.finish_margin_ms)  # learns from cleaning and ranking
        self.answers = AnswerCache(KEPT_ANSWERS)
        self.removed: tuple[Removal, ...] = ()  # on the way to the last answer, in this order; () if it was kept
        self._user_message = ""  # for the next answer
        self._refused = False  # whether the last job had too little time for some of its work

    def tell(self, user_message: str) -> None:
        """Show a message to the user with the next answer."""
        self._user_message = user_message

    @property
    def device(self) -> str:
        """Where the model is: a device of this machine, or the address of a server."""
        return self.proposer.can.device

    @property
    def window(self) -> WindowSettings:
        """How much text around a hole the model can use."""
        return self.proposer.can.window

    @property
    def profile(self) -> str:
        """How the model computes, if that was chosen automatically, and whether it is too slow while typing."""
        profile, budget_ms = self.proposer.can.profile, self.settings.budget_ms
        if self.proposer.least_ms() + self.settings.sampler.finish_margin_ms <= budget_ms:
            return profile
        slow = f"too slow here for {budget_ms:.0f} ms while typing: retrieved texts at once, the model's late"
        return f"{profile}; {slow}" if profile else slow

    @property
    def levels(self) -> Mapping[Eagerness, Level]:
        """What each level of eagerness means for the model."""
        return self.calibration.levels

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
        if not all(gap.known for gap in request.gaps):
            raise InputError("holes without text between them are one hole; join them")
        show_from = self._show_from(request)
        answer = self.answers.get(request, show_from)
        if answer is None:
            answer = self._compute(request, deadline, observer)
            if answer.reason not in (Reason.CANCELLED, Reason.DEADLINE):
                self.answers.put(request, answer)
        return replace(answer, elapsed_ms=since(started), show_from=show_from)

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

    def prefetch(self, request: InfillRequest, deadline: Deadline) -> None:
        """Read what a later request nearby needs, as far as time allows."""
        with suppress(OutOfTime):
            self._run(self.proposer.prefetch(request), deadline)

    def index_project(self, project_text: ProjectText) -> Iterator[None]:
        """Index the text around a document, for requests that name it; yields about every 2 ms."""
        return self.proposer.index(project_text)

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
        if request.history and not self.proposer.can.rewrites:
            return Answer(reason=Reason.UNSUPPORTED)
        hole = request.hole or hole_at(request.prefix, request.suffix, request.language)
        one_at_a_time = bool(request.gaps) and not self.proposer.can.fills_several
        asked = first_hole(request) if one_at_a_time else request
        if asked is None:
            return Answer(reason=Reason.UNSUPPORTED)
        if not request.history:
            prepare(request)  # now, so that the time kept free for ranking does not depend on the document
        found = self._propose(asked, hole, _drafts(asked, hole), deadline, observer)
        if one_at_a_time:
            found = in_all_holes(found, request)
        answer = Answer(
            (),
            None,
            found.encode_ms,
            found.denoise_ms,
            incomplete_context=found.incomplete_context,
            user_message=found.user_message,
        )
        if deadline.cancelled():
            return replace(answer, reason=Reason.CANCELLED, final=False)
        began = now()
        candidates = self._ranked(found.proposals or [], request, hole)
        self.finish_margin.observe(since(began))
        reason = None if candidates else Reason.DEADLINE if found.proposals is None else Reason.BLANK
        final = found.final and not found.incomplete_context and not any(one.partial for one in found.proposals or ())
        cut_short = not request.explicit and (self._refused or not found.final)
        return replace(answer, candidates=candidates, reason=reason, final=final, cut_short=cut_short)

    def _ranked(self, proposals: list[Proposal], request: InfillRequest, hole: Hole) -> tuple[Candidate, ...]:
        if request.history:
            return rewrites(proposals, request)
        if request.replaced or request.gaps:
            return alternatives(proposals, request, hole, self.calibration)
        candidates, self.removed = rank(proposals, request, hole, self.calibration)
        return candidates

    def _propose(
        self,
        request: InfillRequest,
        hole: Hole,
        drafts: tuple[Draft, ...],
        deadline: Deadline,
        observer: Observer | None,
    ) -> Proposals:
        """Return the proposals; if memory or precision fails, try again with a less demanding setup."""
        found = None
        while found is None and not deadline.cancelled():
            found = self._run(self.proposer.propose(request, hole, drafts), deadline, observer)
        found = found or Proposals(unscored_drafts(drafts))
        user_message, self._user_message = self._user_message, ""
        return replace(found, user_message=found.user_message or user_message)

    def _run(self, job: Job[T], deadline: Deadline, observer: Observer | None = None) -> T | None:
        """Run a job of the proposer. If memory or precision fails, give up something and return None."""
        # A GPU accepts work before it has done it, so the budget waits for it.
        budget = Budget(deadline, self.proposer.costs, self.finish_margin, partial(finish, self.device))
        try:
            found = budget.run(job, observer)
        except NoNumbersError:
            fall_back = self._leave_precision
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            fall_back = self._use_less_memory
        else:
            self._refused = budget.refused
            return found
        fall_back()  # after the error has been handled: until then, its frames hold on to what was computed
        return None

    def _use_less_memory(self) -> None:
        means = self.proposer.use_less_memory()
        if means:
            give_back(self.device)
            self.tell(f"{self.name} ran out of memory on {self.device}: {means}, and restart the engine")
        else:
            self._use_retrieval(
                f"{self.name} runs out of memory on {self.device}",
                "Choose a smaller model, or the precision int8 or int4, and restart the engine",
            )

    def _leave_precision(self) -> None:
        self._use_retrieval(
            f"the numbers of {self.name} on {self.device} are too large for its precision",
            "Choose the precision bf16 or fp32",
        )

    def _use_retrieval(self, why: str, remedy: str) -> None:
        """Give up the model: only retrieved texts are proposed from now on."""
        device = self.device
        self.proposer = Retrieval(why)
        give_back(device)
        self.name, self.calibration = RETRIEVAL, calibration_of_retrieval()
        self.answers = AnswerCache(KEPT_ANSWERS)  # those that are kept have confidences of the other model
        self.tell(f"Only retrieved texts are suggested: {why}. {remedy}")


def _texts(answer: Answer) -> list[tuple[str, float]]:
    return [(candidate.text, candidate.confidence) for candidate in answer.candidates]


def _drafts(request: InfillRequest, hole: Hole) -> tuple[Draft, ...]:
    if request.history:
        return ()
    if request.replaced:  # so that every model scores it
        return () if request.gaps else (Draft(request.replaced[0]),)
    if request.drafts is not None:
        return request.drafts
    return find_drafts(request.prefix, request.suffix, (request.prefix, request.suffix), hole, request.language)
