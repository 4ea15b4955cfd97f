"""The engine: a model on this machine, and how it degrades when memory runs out or a precision overflows.

What it makes of a request is in `sampler`, what comes before and after in `answering`.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import cast

from infill_engine.deadline import Deadline, Reserve
from infill_engine.engine.answering import Answering
from infill_engine.errors import ModelError, ModelNotFoundError
from infill_engine.models.base import Model, ModelFamily
from infill_engine.models.checkpoint.folder import DEFAULT, SMALL, TRUNK
from infill_engine.models.loading import folder_of, load_family, load_model, trained_folder
from infill_engine.models.runtime.cuda_graphs import compile_steps
from infill_engine.models.runtime.devices import finish
from infill_engine.models.runtime.memory import give_back, is_out_of_memory
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.ranking.rank import Calibration
from infill_engine.sampling.canvas_sampler import CanvasSampler, Room
from infill_engine.sampling.prediction import NoNumbersError
from infill_engine.sampling.proposals import Guessed, unread
from infill_engine.sampling.tree_sampler import TreeSampler
from infill_engine.settings import EngineSettings, WindowSettings
from infill_engine.types import Answer, Candidate, Draft, Hole, InfillRequest, Surroundings
from infill_engine.work import Budget, Costs, OutOfTime, Watch

Progress = Callable[[str, float], None]  # what is being done, and the share of it that is done

WARM_UP_ROUNDS = 4
THRIFT = (Room(64, 512), Room(2, 16), Room(1, 8))  # one after another, as memory runs out; then the default model
SLOWEST_PASS_MS = 75.0  # over MEASURED_ROWS rows: where the trunk takes longer, too few passes fit the usual budget
MEASURED_ROWS = 16
USUAL_BUDGET_MS = 150.0
CALIBRATION = "calibration.json"


class Engine:
    """A loaded model with its caches. Not thread-safe: one request at a time."""

    def __init__(
        self, model: Model, name: str, calibration: Calibration, settings: EngineSettings | None = None
    ) -> None:
        self.name = name
        self.settings = settings or EngineSettings()
        self._thrift = 0
        self._trouble = ""  # of which the next answer tells
        self._why_small = ""  # where the small model serves instead of the default
        self._reserve = Reserve(self.settings.sampler.reserve_ms)
        self.sampler = self._sampler_of(model)
        self._answering = Answering(calibration, self._reserve)

    @classmethod
    def load(
        cls,
        name: str = "default",
        *,
        device: str = "auto",
        progress: Progress | None = None,
        settings: EngineSettings | None = None,
    ) -> "Engine":
        """Loads a model by name or folder and warms it up, so that the first keystroke pays for neither.

        `progress` hears of it, and of fetching a published model. Raises ModelNotFoundError, ModelDamagedError,
        ModelTooLargeError, ModelError, or InputError for a device or a precision that there is not.
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
        engine = cls(model, name, _calibration_of(name), settings)
        compile_steps(model, model.device, lambda what, share: report(what, 0.2 + 0.4 * share), engine._tell)
        report("warming up", 0.9)
        engine._warm_up()
        return engine

    @classmethod
    def _load_default(cls, device: str, settings: EngineSettings, report: Progress) -> "Engine":
        """The trunk, or the small model where the trunk is missing, damaged, too large or too slow for this machine."""
        trouble, why_small = "", ""
        try:
            engine = cls._load_named(TRUNK, device, settings, report)
            if engine.is_fast_enough():
                engine.name = DEFAULT
                return engine
            why_small = "the default model is too slow on this machine"
            del engine
        except ModelNotFoundError:
            why_small = "run `infill-ls models get` for the default model"
        except ModelError as error:
            trouble, why_small = f"{error} Until then the small model serves.", "the default model cannot be loaded"
        engine = cls._load_named(SMALL, device, settings, report)
        engine.name, engine._trouble, engine._why_small = DEFAULT, trouble, why_small
        return engine

    def is_fast_enough(self) -> bool:
        """Whether enough passes of the trunk fit the usual budget on this machine."""
        assert isinstance(self.sampler, TreeSampler)
        return self.sampler.pass_ms(MEASURED_ROWS) <= SLOWEST_PASS_MS

    def _sampler_of(self, model: Model) -> CanvasSampler | TreeSampler:
        if isinstance(model, TrunkModel):
            return TreeSampler(model, self.settings.sampler)
        return CanvasSampler(cast(ModelFamily, model), self.settings.sampler, THRIFT[self._thrift])

    def _tell(self, trouble: str) -> None:
        self._trouble = f"{self.name}: {trouble}"

    @property
    def family(self) -> Model:
        """The model."""
        return self.sampler.family

    @property
    def device(self) -> str:
        """Where the model is."""
        return self.family.device

    @property
    def pace(self) -> str:
        """How it computes, where that was chosen for it."""
        pace = self.family.spec.pace
        return f"{pace}; small model: {self._why_small}" if self._why_small else pace

    @property
    def window(self) -> WindowSettings:
        """The text around a hole that the model has a use for."""
        return self.family.spec.window

    def infill(self, request: InfillRequest, deadline: Deadline) -> tuple[Candidate, ...]:
        """Candidates for the request's hole, best first; empty when there is nothing to say in time."""
        return self.answer(request, deadline).candidates

    def answer(self, request: InfillRequest, deadline: Deadline, watch: Watch | None = None) -> Answer:
        """Candidates with their timings, or the reason for silence. `watch` sees the canvas after every step."""
        return self._answering.answer(request, deadline, partial(self._guess, watch))

    def warm(self, request: InfillRequest, deadline: Deadline) -> None:
        """Encodes the request's two sides, so that a later request nearby finds them cached; as far as time allows.

        And what its prompt would show, where the family has one, and counts the text that candidates are judged by.
        """
        try:
            self._budget(deadline).run(self.sampler.read_ahead(request))
            return
        except OutOfTime:
            return
        except Exception as error:
            step_down = self._way_down(error)
        step_down()

    def surround(self, surroundings: Surroundings) -> Iterator[None]:
        """Counts the text around a document, of use to requests that name it; yields after every 2 ms or so."""
        return self.sampler.surround(surroundings)

    def _guess(
        self, watch: Watch | None, request: InfillRequest, hole: Hole, drafts: tuple[Draft, ...], deadline: Deadline
    ) -> Guessed:
        """Guesses, and once whatever the user has to be told."""
        found = self._guess_thriftily(watch, request, hole, drafts, deadline)
        trouble, self._trouble = self._trouble, ""
        return replace(found, trouble=found.trouble or trouble)

    def _guess_thriftily(
        self, watch: Watch | None, request: InfillRequest, hole: Hole, drafts: tuple[Draft, ...], deadline: Deadline
    ) -> Guessed:
        """Guesses; where memory or a precision does not do, with what asks less of it and once more."""
        tried = None
        while tried != (self.sampler, self._thrift) and not deadline.cancelled():
            tried = self.sampler, self._thrift
            budget = self._budget(deadline)
            try:
                return budget.run(self.sampler.guess(request, hole, drafts, budget), watch)
            except Exception as error:
                step_down = self._way_down(error)
            step_down()
        return Guessed(unread(drafts))

    def _budget(self, deadline: Deadline) -> Budget:
        """The time of one request. A GPU is waited for: it has been handed its work and has not done it."""
        return Budget(deadline, self.sampler.costs, self._reserve, partial(finish, self.device))

    def _way_down(self, error: Exception) -> Callable[[], None]:
        """What makes another try worthwhile; raises the error where nothing does.

        To be called once the error is gone: as long as it is handled, its frames hold on to what was computed.
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
        return self.name in (DEFAULT, SMALL) and not isinstance(self.family, TrunkModel)

    def _use_less_memory(self) -> None:
        give_back(self.device)
        if self._thrift + 1 < len(THRIFT):
            self._thrift += 1
            if isinstance(self.sampler, CanvasSampler):
                self.sampler.room = THRIFT[self._thrift]
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
            f"What {self.name} computes on {self.device} is too large for its precision: the default model is used "
            "instead. Choose the precision bf16 or fp32"
        )

    def _take_default(self, why: str) -> None:
        device, self._trouble = self.device, why
        self._thrift = 0
        self.sampler = self._sampler_of(load_family(SMALL, "cpu"))
        give_back(device)
        self._why_small = why if self.name == DEFAULT else ""
        self.name = DEFAULT
        self._answering = Answering(_calibration_of(SMALL), self._reserve)

    def _warm_up(self) -> None:
        """Runs a few requests of a usual size: libraries set themselves up, and the cost of a step becomes known."""
        if isinstance(self.sampler, TreeSampler):
            self.sampler.measure()
            request = InfillRequest("total = sum(", ")\n")
            self._answering.fresh(request, Deadline.after_ms(USUAL_BUDGET_MS), partial(self._guess_thriftily, None))
            return
        for number in range(WARM_UP_ROUNDS):
            if number == 1:
                self.sampler.costs = Costs()
            before = "".join(f"value_{line} = compute({line}, {number})\n" for line in range(30))
            request = InfillRequest(f"{before}result = ", f"\n{before[:400]}")
            self._answering.fresh(request, Deadline.after_ms(5_000), partial(self._guess_thriftily, None))


def _calibration_of(name: str) -> Calibration:
    """The weights fitted for this model, from calibration.json beside it; the built-in ones if it has none."""
    folder = folder_of(name)
    path = trained_folder(name, folder) / CALIBRATION if folder else None
    return Calibration.from_json(path.read_text()) if path and path.is_file() else Calibration()
