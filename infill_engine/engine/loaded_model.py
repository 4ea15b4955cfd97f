"""A loaded model: it runs jobs as long as there is time. If memory runs out or a precision overflows, it gives up
something, and at last retrieved texts serve alone.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

from infill_engine.budget.deadline import Deadline, FinishMargin
from infill_engine.budget.work import Budget, Job, Observer, OutOfTime
from infill_engine.engine.draft_answers import calibration_of_retrieval
from infill_engine.models.base import NoNumbersError
from infill_engine.models.registry import RETRIEVAL
from infill_engine.models.runtime.allocator import give_back, is_out_of_memory
from infill_engine.models.runtime.devices import finish
from infill_engine.ranking.calibration import Calibration
from infill_engine.sampling.proposals import Proposals, unscored_drafts
from infill_engine.sampling.proposer import Proposer, Retrieval
from infill_engine.settings import WindowSettings
from infill_engine.types import Draft, Eagerness, Hole, Holes, Level, ProjectText, Surroundings, TextRequest

T = TypeVar("T")
FINISH_MARGIN_MS = 9.0  # minimum, for cleaning and ranking


class LoadedModel:
    """Whatever makes the proposals, and the calibration of its confidences."""

    def __init__(self, proposer: Proposer, name: str, calibration: Calibration) -> None:
        self.proposer = proposer
        self.name = name
        self.calibration = calibration
        self.finish_margin = FinishMargin(FINISH_MARGIN_MS)  # learns from cleaning and ranking
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
        """How the model computes, if that was chosen automatically."""
        return self.proposer.can.profile

    @property
    def least_ms(self) -> float:
        """The shortest time in which the model can answer."""
        return self.proposer.least_ms() + FINISH_MARGIN_MS

    @property
    def levels(self) -> Mapping[Eagerness, Level]:
        """What each level of eagerness means for the model."""
        return self.calibration.levels

    def prefetch(self, around: Surroundings, deadline: Deadline) -> None:
        """Read what a later request at a place needs, as far as time allows."""
        with suppress(OutOfTime):
            self._run(self.proposer.prefetch(around), deadline)

    def index_project(self, project_text: ProjectText) -> Iterator[None]:
        """Index the text around a document, for requests that name it; yields about every 2 ms."""
        return self.proposer.index(project_text)

    def forget_answers(self) -> None:
        """Forget what was computed with the calibration."""

    def _propose(
        self,
        request: TextRequest,
        hole: Hole,
        drafts: tuple[Draft, ...],
        holes: Holes,
        deadline: Deadline,
        observer: Observer | None = None,
    ) -> Proposals:
        """Return the proposals; if memory or precision fails, try again with a less demanding setup."""
        found = None
        while found is None and not deadline.cancelled():
            found = self._run(self.proposer.propose(request, hole, drafts, holes), deadline, observer)
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
        self.forget_answers()  # they have confidences of the other model
        self.tell(f"Only retrieved texts are suggested: {why}. {remedy}")
