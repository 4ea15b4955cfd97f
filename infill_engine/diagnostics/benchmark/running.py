"""A run: its loaded models, and the units that are measured one after the other. Each adds its lines to the results."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from infill_engine.budget.deadline import Deadline, now, since
from infill_engine.diagnostics.benchmark.problems.judging import Judge
from infill_engine.diagnostics.benchmark.problems.problem_files import Problem
from infill_engine.diagnostics.benchmark.results import BenchmarkSetting, Results
from infill_engine.engine.engine import Engine
from infill_engine.types import InfillRequest

USUAL = BenchmarkSetting(4, 150.0)
SETTINGS = (USUAL, BenchmarkSetting(4, 300.0), BenchmarkSetting(1, 150.0), BenchmarkSetting(4, 80.0))
SERVED = "served"  # the way of an answer of the engine as it serves
READING_MS = 10_000  # at most, for the text up to the cursor's line
AT_ONCE = 26  # problems in a unit
SECONDS_AN_ANSWER = 0.25

LoadEngine = Callable[[str], Engine]


@dataclass(frozen=True, slots=True)
class SuitePlan:
    """How much is measured: so many keystrokes, and every `stride`th problem under each of the settings.

    No unit starts that would probably end after `most_seconds`; 0 means no limit.
    """

    keystrokes: int
    stride: int
    settings: tuple[BenchmarkSetting, ...] = SETTINGS
    most_seconds: float = 0.0


PLANS = {
    "quick": SuitePlan(keystrokes=120, stride=2, most_seconds=170),
    "full": SuitePlan(
        keystrokes=1000, stride=1, settings=(*SETTINGS, BenchmarkSetting(2, 150.0), BenchmarkSetting(8, 150.0))
    ),
}


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of a run that is measured at once; `seconds` is a guess. `name` is shown to the user."""

    name: str
    seconds: float
    run: Callable[[], None]


@dataclass(slots=True)
class Run:
    """Everything that the units of a run share. The main model is the first."""

    models: tuple[str, ...]
    problems: tuple[Problem, ...]
    results: Results
    load: LoadEngine
    judge: Judge = field(default_factory=Judge)
    _engines: dict[str, Engine] = field(default_factory=dict)

    def engine(self, model: str) -> Engine:
        """Return a loaded model."""
        if model not in self._engines:
            engine = self._engines[model] = self.load(model)
            self.results.add("load", model=model, device=engine.device, profile=engine.profile)
        return self._engines[model]

    def add_answer(
        self, model: str, way: str, problem: Problem, setting: BenchmarkSetting, texts: tuple[str, ...], ms: float
    ) -> None:
        """Judge an answer's texts and add it to the results. `way` names how it was computed; `ms` is what it took."""
        self.results.add(
            "answer",
            model=model,
            way=way,
            problem=problem.id,
            kind=problem.kind,
            candidates=setting.candidates,
            budget_ms=setting.budget_ms,
            texts=list(texts),
            right=self.judge.which_are_right(problem, texts),
            ms=round(ms, 2),
        )


def quality_units(run: Run, plan: SuitePlan) -> list[Unit]:
    """Return the units in which each model answers the problems under each setting."""
    problems = run.problems[:: plan.stride]
    return [
        unit
        for setting in plan.settings
        for model in run.models
        for unit in parted(
            f"quality {model} {setting}", problems, SECONDS_AN_ANSWER, partial(_measure, run, model, setting)
        )
    ]


def parted(
    name: str, problems: tuple[Problem, ...], seconds_each: float, work: Callable[[tuple[Problem, ...]], None]
) -> list[Unit]:
    """Return units of at most AT_ONCE problems each."""
    parts = [problems[start : start + AT_ONCE] for start in range(0, len(problems), AT_ONCE)]
    return [
        Unit(f"{name} {number}/{len(parts)}", seconds_each * len(part), partial(work, part))
        for number, part in enumerate(parts, 1)
    ]


def read_up_to_the_line(engine: Engine, request: InfillRequest) -> None:
    """Have an engine read the text up to the cursor's line."""
    line = request.prefix.rfind("\n") + 1
    engine.prefetch(replace(request, prefix=request.prefix[:line]), Deadline.after_ms(READING_MS))


def _measure(run: Run, model: str, setting: BenchmarkSetting, problems: tuple[Problem, ...]) -> None:
    """Have the engine answer as it serves. The text up to the cursor's line is read first, as while typing."""
    engine = run.engine(model)
    for problem in problems:
        request = problem.request(setting.candidates)
        read_up_to_the_line(engine, request)
        began = now()
        answer = engine.fresh(request, Deadline.after_ms(setting.budget_ms))
        texts = tuple(candidate.text for candidate in answer.candidates)
        run.add_answer(model, SERVED, problem, setting, texts, since(began))
