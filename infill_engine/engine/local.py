"""The engine of a model on this machine, and its fallbacks when memory runs out or a precision overflows."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from infill_engine.budget.deadline import Deadline, FinishMargin
from infill_engine.budget.work import Budget, Costs, OutOfTime, Watch
from infill_engine.engine.answer_cache import AnswerCache
from infill_engine.engine.calibrations import calibration_of
from infill_engine.engine.engine import KEPT_ANSWERS, Engine
from infill_engine.engine.probing import Prober
from infill_engine.models.base import CanvasModel, Model, NoNumbersError
from infill_engine.models.registry import DEFAULT, SMALL
from infill_engine.models.runtime.devices import finish
from infill_engine.models.runtime.out_of_memory import give_back, is_out_of_memory
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.ranking.calibration import Calibration
from infill_engine.sampling.proposals import Proposals, unread
from infill_engine.sampling.tree_sampler import TreeSampler
from infill_engine.settings import EngineSettings, WindowSettings
from infill_engine.types import Answer, Draft, Hole, InfillRequest, Surroundings

if TYPE_CHECKING:
    from infill_engine.sampling.canvas_sampler import CanvasSampler

WARM_UP_ROUNDS = 2  # one in which libraries initialise, and one that is measured, part by part
# Rows and slots, tried in this order as memory runs out; after the last, the small model takes over.
MEMORY_LIMITS = ((64, 512), (2, 16), (1, 8))


class LocalEngine(Engine):
    """A loaded model with its caches; `sampler` turns a request into proposals. See `loading.load_engine`."""

    def __init__(
        self, model: Model, name: str, calibration: Calibration, settings: EngineSettings | None = None
    ) -> None:
        self.settings = settings or EngineSettings()
        super().__init__(name, calibration, FinishMargin(self.settings.sampler.finish_margin_ms))
        self._degraded = 0
        self._user_message = ""  # for the next answer
        self._why_small = ""  # why this model serves in place of the default, if it does
        self._prober = Prober()
        self.sampler = self._sampler_of(model)

    def replace_default(self, why: str) -> None:
        """Say why this model serves in place of the default."""
        self._why_small = why

    def tell(self, user_message: str) -> None:
        """Show a message to the user with the next answer."""
        self._user_message = user_message

    @property
    def model(self) -> Model:
        """The model."""
        return self.sampler.model

    @property
    def device(self) -> str:
        """See `Engine`."""
        return self.model.device

    @property
    def profile(self) -> str:
        """See `Engine`."""
        profile = self.model.info.profile
        return f"{profile}; in place of the default: {self._why_small}" if self._why_small else profile

    @property
    def window(self) -> WindowSettings:
        """See `Engine`."""
        return self.model.info.window

    @property
    def fills_several(self) -> bool:
        """See `Engine`."""
        return isinstance(self.sampler, TreeSampler)

    @property
    def goes_on(self) -> bool:
        """See `Engine`."""
        return isinstance(self.sampler, TreeSampler)

    def fresh(self, request: InfillRequest, deadline: Deadline, watch: Watch | None = None) -> Answer:
        """Like `answer`, but computed from the beginning and not kept, for measurements."""
        if isinstance(self.model, TrunkModel):
            self.model.forget_continuations()
        return self._compute(request, deadline, watch)

    def warm(self, request: InfillRequest, deadline: Deadline) -> None:
        """See `Engine`. Encodes both sides or reads the prompt, and counts the text that candidates are scored by."""
        try:
            self._budget(deadline).run(self.sampler.read_ahead(request))
            return
        except OutOfTime:
            return
        except Exception as error:
            fall_back = self._fallback_for(error)
        fall_back()

    def surround(self, surroundings: Surroundings) -> Iterator[None]:
        """See `Engine`."""
        return self.sampler.surround(surroundings)

    def small_pass(self) -> Callable[[], None]:
        """See `Engine`."""
        return self._prober.pass_of(self.model)

    def warm_up(self) -> None:
        """Run a few requests of a usual size: libraries initialise, and the cost of a step becomes known."""
        if isinstance(self.sampler, TreeSampler):
            self.sampler.measure()
            self._rehearse(InfillRequest("total = sum(", ")\n"), self.settings.budget_ms)
            return
        for number in range(WARM_UP_ROUNDS):
            if number == 1:
                self.sampler.costs = Costs(first_share=1.0)  # the setup is done
            before = "".join(f"value_{line} = compute({line}, {number})\n" for line in range(30))
            self._rehearse(InfillRequest(f"{before}result = ", f"\n{before[:400]}"), 5_000)

    def _rehearse(self, request: InfillRequest, budget_ms: float) -> None:
        """Answer a request that nobody has made. A message for the user waits for the first real one."""
        self.tell(self._compute(request, Deadline.after_ms(budget_ms)).user_message)

    def _propose(
        self,
        request: InfillRequest,
        hole: Hole,
        drafts: tuple[Draft, ...],
        deadline: Deadline,
        watch: Watch | None = None,
    ) -> Proposals:
        """Return the proposals; if memory or precision fails, try again with a less demanding setup.

        Outside the model's languages, they are the retrieved texts.
        """
        known = self.model.info.languages
        if known is not None and request.language not in known:
            return Proposals(unread(drafts))
        found, tried = None, None
        while found is None and tried != (self.sampler, self._degraded) and not deadline.cancelled():
            tried = self.sampler, self._degraded
            budget = self._budget(deadline)
            try:
                found = budget.run(self.sampler.propose(request, hole, drafts, budget), watch)
            except Exception as error:
                fall_back = self._fallback_for(error)
            if found is None:
                fall_back()
        found = found or Proposals(unread(drafts))
        user_message, self._user_message = self._user_message, ""
        return replace(found, user_message=found.user_message or user_message)

    def _sampler_of(self, model: Model) -> "CanvasSampler | TreeSampler":
        if isinstance(model, TrunkModel):
            return TreeSampler(model)
        from infill_engine.sampling.canvas_sampler import CanvasSampler, MemoryLimit  # need torch

        limit = MemoryLimit(*MEMORY_LIMITS[self._degraded])
        return CanvasSampler(cast(CanvasModel, model), self.settings.sampler, limit)

    def _budget(self, deadline: Deadline) -> Budget:
        """Return the time of one request. Waits for a GPU, which accepts work before it has done it."""
        return Budget(deadline, self.sampler.costs, self.finish_margin, partial(finish, self.device))

    def _fallback_for(self, error: Exception) -> Callable[[], None]:
        """Return the fallback to apply before another try; re-raise the error if there is none.

        Call the result only after the error has been handled: until then, its frames hold on to what was computed.
        """
        if self._is_last_resort:
            raise error
        if is_out_of_memory(error):
            return self._use_less_memory
        if isinstance(error, NoNumbersError):
            return self._leave_precision
        raise error

    @property
    def _is_last_resort(self) -> bool:
        return self.name in (DEFAULT, SMALL) and not isinstance(self.model, TrunkModel)

    def _use_less_memory(self) -> None:
        if isinstance(self.sampler, TreeSampler):
            self.sampler.model.forget_prompts()
        give_back(self.device)
        if self._degraded + 1 < len(MEMORY_LIMITS):
            self._degraded += 1
            rows, slots = MEMORY_LIMITS[self._degraded]
            if not isinstance(self.sampler, TreeSampler):
                self.sampler.limit = replace(self.sampler.limit, rows=rows, slots=slots)
                means, remedy = "it now gives fewer and shorter candidates", "choose the precision int8 or int4"
            else:
                means, remedy = "it has to read the text around the cursor again", "choose the model small"
            self.tell(
                f"{self.name} ran out of memory on {self.device}: {means}. Free some memory, or {remedy}, and "
                "restart the engine"
            )
        else:
            self._take_small(
                f"{self.name} runs out of memory on {self.device} even for a single short candidate: the small model "
                "is used instead. Choose a smaller model, or the precision int8 or int4"
            )

    def _leave_precision(self) -> None:
        self._take_small(
            f"The numbers of {self.name} on {self.device} are too large for its precision: the small model is used "
            "instead. Choose the precision bf16 or fp32"
        )

    def _take_small(self, why: str) -> None:
        from infill_engine.models.canvas_loading import load_canvas_model  # needs torch

        device, self._user_message = self.device, why
        self._degraded = 0
        self.sampler = self._sampler_of(load_canvas_model(SMALL, "cpu"))
        give_back(device)
        self._why_small = why if self.name == DEFAULT else ""
        self.name, self.calibration = SMALL, calibration_of(SMALL)
        self.answers = AnswerCache(KEPT_ANSWERS)  # those that are kept have confidences of the other model
