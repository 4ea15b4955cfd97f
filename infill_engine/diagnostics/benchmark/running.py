"""A run: its loaded models, and the units that are measured one after the other. Each adds its lines to the results."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from infill_engine.budget.deadline import now, since
from infill_engine.diagnostics.benchmark.left_to_right import LEFT_TO_RIGHT, LeftToRight
from infill_engine.diagnostics.benchmark.plan import FIGHT, Experiment
from infill_engine.diagnostics.benchmark.problems.judging import Judge
from infill_engine.diagnostics.benchmark.problems.problem_files import Problem
from infill_engine.diagnostics.benchmark.results import Results
from infill_engine.diagnostics.benchmark.systems import MODEL_ALONE, UNHURRIED_MS, Served, Setting, System
from infill_engine.engine.engine import Engine
from infill_engine.models.registry import folder_of, trained_folder
from infill_engine.models.trunk.sources import source_of
from infill_engine.settings import EngineSettings

AT_ONCE = 26  # problems in a unit
SECONDS_AN_ANSWER = 0.25

Load = Callable[[str, EngineSettings], Engine]


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of a run that is measured at once; `seconds` is a guess. `key` is its name in the results."""

    key: str
    seconds: float
    run: Callable[[], None]


@dataclass(slots=True)
class Run:
    """Everything that the units of a run share. The main model is the first."""

    models: tuple[str, ...]
    problems: tuple[Problem, ...]
    results: Results
    load: Load
    judge: Judge = field(default_factory=Judge)
    _engines: dict[str, Engine] = field(default_factory=dict)

    def engine(self, model: str) -> Engine:
        """Return a loaded model. The time that loading took is part of the results."""
        if model not in self._engines:
            began = now()
            engine = self._engines[model] = self.load(model, EngineSettings())
            seconds = round(since(began) / 1000, 2)
            self.results.add("load", model=model, seconds=seconds, device=engine.device, profile=engine.profile)
        return self._engines[model]

    def system(self, model: str, way: str) -> System:
        """Return a way of decoding with a model. Only the trunk can be decoded from left to right."""
        engine = self.engine(model)
        return LeftToRight(engine) if way == LEFT_TO_RIGHT else Served(engine, drafts=way != MODEL_ALONE)

    def ask(self, suite: str, model: str, system: System, problem: Problem, setting: Setting, turn: int = 0) -> None:
        """Have a system answer, judge its texts, and add the answer to the results."""
        answered = system.answer(problem, setting)
        self.results.add(
            "answer",
            suite=suite,
            model=model,
            way=system.way,
            problem=problem.id,
            kind=problem.kind,
            turn=turn,
            candidates=setting.candidates,
            budget_ms=None if setting.budget_ms == UNHURRIED_MS else setting.budget_ms,
            most_passes=setting.passes,
            texts=list(answered.texts),
            right=self.judge.which_are_right(problem, answered.texts),
            ms=round(answered.ms, 2),
            cpu_ms=None if answered.cpu_ms is None else round(answered.cpu_ms, 2),
            pass_ms=[round(ms, 2) for ms in answered.pass_ms],
        )


def units_of(run: Run, experiments: Iterable[Experiment]) -> list[Unit]:
    """Return the units of some experiments. Only the trunk can be decoded in several ways, so only it is compared."""
    units: list[Unit] = []
    for experiment in experiments:
        measured = run.models[1:] if experiment.others else run.models[:1]
        for model in filter(is_trunk, run.models) if experiment.suite == FIGHT else measured:
            key, seconds = (
                f"{experiment.suite} {model} {limit_of(experiment.setting)}",
                SECONDS_AN_ANSWER * experiment.rounds,
            )
            problems = run.problems[:: experiment.stride]
            units += parted(key, problems, seconds * len(experiment.ways), partial(_measure, run, model, experiment))
    return units


def is_trunk(model: str) -> bool:
    """Return whether a model is of the trunk's architecture, without loading it."""
    path = folder_of(model)
    return path is not None and path.exists() and source_of(path, trained_folder(path)) is not None


def limit_of(setting: Setting) -> str:
    """Return a setting in words."""
    limit = f"{setting.budget_ms:.0f} ms" if setting.passes is None else f"{setting.passes} passes"
    return f"{setting.candidates} in {limit}"


def parted(
    key: str, problems: tuple[Problem, ...], seconds_each: float, work: Callable[[tuple[Problem, ...]], None]
) -> list[Unit]:
    """Return units of at most AT_ONCE problems each."""
    parts = [problems[start : start + AT_ONCE] for start in range(0, len(problems), AT_ONCE)]
    return [
        Unit(f"{key} {number}/{len(parts)}", seconds_each * len(part), partial(work, part))
        for number, part in enumerate(parts, 1)
    ]


def _measure(run: Run, model: str, experiment: Experiment, problems: tuple[Problem, ...]) -> None:
    """Ask all ways in turn: A B A B. Each of them begins equally often."""
    systems = [run.system(model, way) for way in experiment.ways]
    for number, problem in enumerate(problems):
        first = number % len(systems)
        for turn in range(experiment.rounds):
            for system in (*systems[first:], *systems[:first]):
                run.ask(experiment.suite, model, system, problem, experiment.setting, turn)
