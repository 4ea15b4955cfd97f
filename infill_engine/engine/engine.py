"""The engine: a model on this machine, and its fallbacks when memory runs out or a precision overflows.

`sampler` turns a request into proposals; `answering` does everything before and after that.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from math import ceil
from typing import cast

from infill_engine.budget.deadline import Deadline, FinishMargin
from infill_engine.budget.work import Budget, Costs, OutOfTime, Watch
from infill_engine.engine.answering import Answering
from infill_engine.engine.calibrations import calibration_of
from infill_engine.engine.probing import Prober
from infill_engine.errors import ModelError, ModelNotFoundError
from infill_engine.models.base import CanvasModel, Model
from infill_engine.models.loading import load_canvas_model, load_model
from infill_engine.models.registry import DEFAULT, SMALL, TRUNK
from infill_engine.models.runtime.cuda_graphs import compile_steps
from infill_engine.models.runtime.devices import finish
from infill_engine.models.runtime.memory import give_back, is_out_of_memory
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.ranking.calibration import Calibration
from infill_engine.sampling.canvas_sampler import CanvasSampler, MemoryLimit
from infill_engine.sampling.prediction import NoNumbersError
from infill_engine.sampling.proposals import Proposals, unread
from infill_engine.sampling.tree_sampler import TreeSampler
from infill_engine.settings import EngineSettings, WindowSettings
from infill_engine.types import Answer, Candidate, Draft, Hole, InfillRequest, Surroundings

Progress = Callable[[str, float], None]  # the current task, and the share of it that is done

WARM_UP_ROUNDS = 2  # one in which libraries initialise, and one that is measured, part by part
# Tried in this order as memory runs out; after the last, the small model takes over.
MEMORY_LIMITS = (MemoryLimit(64, 512), MemoryLimit(2, 16), MemoryLimit(1, 8))
# How many passes of the trunk, over MEASURED_ROWS rows each, the budget must be worth. On calibration packages the
# trunk is a little better than the small model with a budget of 2.3 passes, and clearly better with 3.1.
LEAST_PASSES, MEASURED_ROWS = 2.5, 16
NEEDS_MS = "--default-needs-ms"  # the option that sets `EngineSettings.default_needs_ms`


class Engine:
    """A loaded model with its caches. Not thread-safe: one request at a time."""

    def __init__(
        self, model: Model, name: str, calibration: Calibration, settings: EngineSettings | None = None
    ) -> None:
        self.name = name
        self.settings = settings or EngineSettings()
        self._degraded = 0
        self._trouble = ""  # a message for the next answer
        self._why_small = ""  # why the small model replaces the default, if it does
        self.default_needs_ms = 0  # the budget that would bring the default model back, if it is too slow; else 0
        self.successor_options: tuple[str, ...] = ()
        self.holds_unused = False
        self._prober = Prober()
        self._finish_margin = FinishMargin(self.settings.sampler.finish_margin_ms)
        self.sampler = self._sampler_of(model)
        self._answering = Answering(calibration, self._finish_margin, self._fills_several)

    @classmethod
    def load(
        cls,
        name: str = "default",
        *,
        device: str = "auto",
        progress: Progress | None = None,
        settings: EngineSettings | None = None,
    ) -> "Engine":
        """Load a model by name or folder and warms it up, so that the first keystroke is not delayed.

        `progress` reports loading, and the download of a published model. Raises ModelNotFoundError, ModelDamagedError,
        ModelTooLargeError, ModelError, or InputError for an unknown device or precision.
        """
        report = progress or (lambda _detail, _fraction: None)
        report("reading the model", 0.1)
        settings = settings or EngineSettings()
        if name == DEFAULT:
            engine = cls._load_default(device, settings, report)
        else:
            engine = cls._load_named(name, device, settings, report)
        report("ready", 1.0)
        return engine

    @classmethod
    def _load_named(cls, name: str, device: str, settings: EngineSettings, report: Progress) -> "Engine":
        model = load_model(name, device, settings.model, report)
        engine = cls(model, name, calibration_of(name), settings)
        compile_steps(model, model.device, lambda what, share: report(what, 0.2 + 0.4 * share), engine._tell)
        report("warming up", 0.9)
        engine._warm_up()
        return engine

    @classmethod
    def _load_default(cls, device: str, settings: EngineSettings, report: Progress) -> "Engine":
        """The trunk, or the small model if the trunk is missing, damaged, too large or too slow for this machine."""
        user_message, why_small, needs_ms = "", "", settings.default_needs_ms or 0
        try:
            if not needs_ms:
                engine = cls._load_named(TRUNK, device, settings, report)
                if settings.default_needs_ms == 0 or engine.is_fast_enough():
                    engine.name, engine.successor_options = DEFAULT, (NEEDS_MS, "0")
                    return engine
                needs_ms = engine.least_budget_ms()
                del engine
            why_small = f"the default model is too slow for {settings.budget_ms:.0f} ms on this machine"
        except ModelNotFoundError:
            why_small = "run `infill-ls models get` for the default model"
        except ModelError as error:
            if settings.default_needs_ms == 0:  # another process still has it
                raise
            user_message, why_small = (
                f"{error} Until then the small model serves.",
                "the default model cannot be loaded",
            )
        engine = cls._load_named(SMALL, device, settings, report)
        engine.name, engine._trouble, engine._why_small = DEFAULT, user_message, why_small
        engine.default_needs_ms = needs_ms
        if needs_ms:
            engine.successor_options, engine.holds_unused = (NEEDS_MS, str(needs_ms)), settings.default_needs_ms is None
        return engine

    def is_fast_enough(self) -> bool:
        """Return whether enough passes of the trunk fit the budget on this machine."""
        return self.least_budget_ms() <= self.settings.budget_ms

    def least_budget_ms(self) -> int:
        """Return the smallest budget for enough passes of the trunk on an idle machine, in whole milliseconds."""
        assert isinstance(self.sampler, TreeSampler)
        return ceil(LEAST_PASSES * self.sampler.best_pass_ms(MEASURED_ROWS))

    def _sampler_of(self, model: Model) -> CanvasSampler | TreeSampler:
        if isinstance(model, TrunkModel):
            return TreeSampler(model)
        return CanvasSampler(cast(CanvasModel, model), self.settings.sampler, MEMORY_LIMITS[self._degraded])

    def _fills_several(self) -> bool:
        return isinstance(self.sampler, TreeSampler)

    def _tell(self, user_message: str) -> None:
        self._trouble = f"{self.name}: {user_message}"

    @property
    def model(self) -> Model:
        """The model."""
        return self.sampler.model

    @property
    def device(self) -> str:
        """The device that holds the model."""
        return self.model.device

    @property
    def profile(self) -> str:
        """How the model computes, if that was chosen automatically."""
        profile = self.model.info.profile
        return f"{profile}; small model: {self._why_small}" if self._why_small else profile

    @property
    def window(self) -> WindowSettings:
        """How much text around a hole the model can use."""
        return self.model.info.window

    def infill(self, request: InfillRequest, deadline: Deadline) -> tuple[Candidate, ...]:
        """Return candidates for the request's hole, best first; empty if none were found in time."""
        return self.answer(request, deadline).candidates

    def answer(self, request: InfillRequest, deadline: Deadline, watch: Watch | None = None) -> Answer:
        """Candidates with their timings, or the reason there are none. `watch` sees the state after every step."""
        return self._answering.answer(request, deadline, partial(self._propose, watch))

    def deepen(self, request: InfillRequest, deadline: Deadline) -> None:
        """Go on with the search after an answer, so that the same request and the next keystrokes get better answers.

        Do nothing for other models than the trunk, whose searches would begin anew.
        """
        if isinstance(self.sampler, TreeSampler):
            self._answering.deepen(request, deadline, partial(self._propose, None))

    def fresh(self, request: InfillRequest, deadline: Deadline, watch: Watch | None = None) -> Answer:
        """Like `answer`, but computed from the beginning and not kept, for measurements."""
        if isinstance(self.model, TrunkModel):
            self.model.forget_continuations()
        return self._answering.fresh(request, deadline, partial(self._propose, watch))

    def warm(self, request: InfillRequest, deadline: Deadline) -> None:
        """Encode the request's two sides, so that a later request nearby finds them cached; as far as time allows.

        Also reads the model's prompt, if it has one, and counts the text that candidates are scored by.
        """
        try:
            self._budget(deadline).run(self.sampler.read_ahead(request))
            return
        except OutOfTime:
            return
        except Exception as error:
            fall_back = self._fallback_for(error)
        fall_back()

    def surround(self, surroundings: Surroundings) -> Iterator[None]:
        """Count the text around a document, for requests that name it; yields about every 2 ms."""
        return self.sampler.surround(surroundings)

    def small_pass(self) -> Callable[[], None]:
        """Return a function that runs a small fixed pass and changes nothing that is kept for requests."""
        return self._prober.pass_of(self.model)

    def _propose(
        self, watch: Watch | None, request: InfillRequest, hole: Hole, drafts: tuple[Draft, ...], deadline: Deadline
    ) -> Proposals:
        """Return the proposals, and any message for the user, which is reported once."""
        found = self._propose_degrading(watch, request, hole, drafts, deadline)
        user_message, self._trouble = self._trouble, ""
        return replace(found, user_message=found.user_message or user_message)

    def _propose_degrading(
        self, watch: Watch | None, request: InfillRequest, hole: Hole, drafts: tuple[Draft, ...], deadline: Deadline
    ) -> Proposals:
        """Return the proposals; if memory or precision fails, tries again with a less demanding setup."""
        tried = None
        while tried != (self.sampler, self._degraded) and not deadline.cancelled():
            tried = self.sampler, self._degraded
            budget = self._budget(deadline)
            try:
                return budget.run(self.sampler.propose(request, hole, drafts, budget), watch)
            except Exception as error:
                fall_back = self._fallback_for(error)
            fall_back()
        return Proposals(unread(drafts))

    def _budget(self, deadline: Deadline) -> Budget:
        """Return the time of one request. Waits for a GPU, which accepts work before it has done it."""
        return Budget(deadline, self.sampler.costs, self._finish_margin, partial(finish, self.device))

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
        give_back(self.device)
        if self._degraded + 1 < len(MEMORY_LIMITS):
            self._degraded += 1
            if isinstance(self.sampler, CanvasSampler):
                self.sampler.limit = MEMORY_LIMITS[self._degraded]
            self._trouble = (
                f"{self.name} ran out of memory on {self.device}: it now gives fewer and shorter candidates. Free some "
                "memory, or choose the precision int8 or int4, and restart the engine"
            )
        else:
            self._take_default(
                f"{self.name} runs out of memory on {self.device} even for a single short candidate: the default model "
                "is used instead. Choose a smaller model, or the precision int8 or int4"
            )

    def _leave_precision(self) -> None:
        self._take_default(
            f"The numbers of {self.name} on {self.device} are too large for its precision: the default model is used "
            "instead. Choose the precision bf16 or fp32"
        )

    def _take_default(self, why: str) -> None:
        device, self._trouble = self.device, why
        self._degraded = 0
        self.sampler = self._sampler_of(load_canvas_model(SMALL, "cpu"))
        give_back(device)
        self._why_small = why if self.name == DEFAULT else ""
        self.name = DEFAULT
        self._answering = Answering(calibration_of(SMALL), self._finish_margin, self._fills_several)

    def _warm_up(self) -> None:
        """Run a few requests of a usual size: libraries initialise, and the cost of a step becomes known."""
        if isinstance(self.sampler, TreeSampler):
            self.sampler.measure()
            request = InfillRequest("total = sum(", ")\n")
            self._answering.fresh(
                request, Deadline.after_ms(self.settings.budget_ms), partial(self._propose_degrading, None)
            )
            return
        for number in range(WARM_UP_ROUNDS):
            if number == 1:
                self.sampler.costs = Costs(first_share=1.0)  # the setup is done
            before = "".join(f"value_{line} = compute({line}, {number})\n" for line in range(30))
            request = InfillRequest(f"{before}result = ", f"\n{before[:400]}")
            self._answering.fresh(request, Deadline.after_ms(5_000), partial(self._propose_degrading, None))
