"""The engine of a model on this machine, and its fallbacks when memory runs out or a precision overflows."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from infill_engine.budget.deadline import Deadline, FinishMargin
from infill_engine.budget.work import Budget, OutOfTime, Watch
from infill_engine.engine.answer_cache import AnswerCache
from infill_engine.engine.draft_answers import calibration_of_retrieval
from infill_engine.engine.engine import KEPT_ANSWERS, Engine
from infill_engine.models.base import NoNumbersError
from infill_engine.models.registry import RETRIEVAL
from infill_engine.models.runtime.devices import finish
from infill_engine.models.runtime.out_of_memory import give_back, is_out_of_memory
from infill_engine.ranking.calibration import Calibration
from infill_engine.sampling.proposals import Proposals, unread
from infill_engine.sampling.proposer import Proposer
from infill_engine.sampling.retrieval import Retrieval
from infill_engine.settings import EngineSettings, WindowSettings
from infill_engine.types import Answer, Draft, Hole, InfillRequest, Surroundings


class LocalEngine(Engine):
    """A loaded model with its caches; `proposer` turns a request into proposals. See `loading.load_engine`."""

    def __init__(
        self, proposer: Proposer, name: str, calibration: Calibration, settings: EngineSettings | None = None
    ) -> None:
        self.settings = settings or EngineSettings()
        super().__init__(name, calibration, FinishMargin(self.settings.sampler.finish_margin_ms))
        self.proposer = proposer
        self._user_message = ""  # for the next answer

    def tell(self, user_message: str) -> None:
        """Show a message to the user with the next answer."""
        self._user_message = user_message

    @property
    def device(self) -> str:
        """See `Engine`."""
        return self.proposer.can.device

    @property
    def profile(self) -> str:
        """See `Engine`. Also says so if the model is too slow for the usual budget."""
        profile, budget_ms = self.proposer.can.profile, self.settings.budget_ms
        if self.proposer.least_ms() + self.settings.sampler.finish_margin_ms <= budget_ms:
            return profile
        slow = f"too slow here for {budget_ms:.0f} ms: retrieved texts at once, the model's late"
        return f"{profile}; {slow}" if profile else slow

    @property
    def window(self) -> WindowSettings:
        """See `Engine`."""
        return self.proposer.can.window

    @property
    def fills_several(self) -> bool:
        """See `Engine`."""
        return self.proposer.can.fills_several

    @property
    def goes_on(self) -> bool:
        """See `Engine`."""
        return self.proposer.can.goes_on

    def fresh(self, request: InfillRequest, deadline: Deadline, watch: Watch | None = None) -> Answer:
        """Like `answer`, but computed from the beginning and not kept, for measurements."""
        self.proposer.forget_predictions()
        return self._compute(request, deadline, watch)

    def warm(self, request: InfillRequest, deadline: Deadline) -> None:
        """See `Engine`. Encodes both sides or reads the prompt, and counts the text that candidates are scored by."""
        try:
            self._budget(deadline).run(self.proposer.prefetch(request))
            return
        except OutOfTime:
            return
        except Exception as error:
            fall_back = self._fallback_for(error)
        fall_back()

    def surround(self, surroundings: Surroundings) -> Iterator[None]:
        """See `Engine`."""
        return self.proposer.index(surroundings)

    def small_pass(self) -> Callable[[], None] | None:
        """See `Engine`."""
        return self.proposer.probe()

    def warm_up(self) -> None:
        """Answer a few requests that nobody has made: libraries initialise, and the cost of a step becomes known.

        A message for the user waits for the first real request.
        """
        for rehearsal in self.proposer.warm_up():
            answer = self._compute(rehearsal.request, Deadline.after_ms(rehearsal.budget_ms))
            self.tell(answer.user_message)

    def _propose(
        self,
        request: InfillRequest,
        hole: Hole,
        drafts: tuple[Draft, ...],
        deadline: Deadline,
        watch: Watch | None = None,
    ) -> Proposals:
        """Return the proposals; if memory or precision fails, try again with a less demanding setup."""
        found = None
        while found is None and not deadline.cancelled():
            budget = self._budget(deadline)
            try:
                found = budget.run(self.proposer.propose(request, hole, drafts, budget), watch)
            except Exception as error:
                fall_back = self._fallback_for(error)
            if found is None:
                fall_back()
        found = found or Proposals(unread(drafts))
        user_message, self._user_message = self._user_message, ""
        return replace(found, user_message=found.user_message or user_message)

    def _budget(self, deadline: Deadline) -> Budget:
        """Return the time of one request. Waits for a GPU, which accepts work before it has done it."""
        return Budget(deadline, self.proposer.costs, self.finish_margin, partial(finish, self.device))

    def _fallback_for(self, error: Exception) -> Callable[[], None]:
        """Return the fallback to apply before another try; re-raise the error if there is none.

        Call the result only after the error has been handled: until then, its frames hold on to what was computed.
        """
        if is_out_of_memory(error):
            return self._use_less_memory
        if isinstance(error, NoNumbersError):
            return self._leave_precision
        raise error

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
