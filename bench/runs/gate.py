"""The gate: the answers of a model in a few passes, which no clock limits."""

from collections.abc import Sequence
from functools import partial

from bench.runs.limited_passes import UNHURRIED_MS, LimitedPasses
from infill_engine.diagnostics.benchmark.problems.problem_files import Problem
from infill_engine.diagnostics.benchmark.results import BenchmarkSetting
from infill_engine.diagnostics.benchmark.running import SECONDS_AN_ANSWER, Run, Unit, parted

PASSES = 6
SETTING = BenchmarkSetting(4, UNHURRIED_MS)


def gate_units(run: Run) -> list[Unit]:
    """Return the units in which the model answers all problems."""
    return parted("gate", run.problems, SECONDS_AN_ANSWER, partial(_ask, run))


def _ask(run: Run, problems: Sequence[Problem]) -> None:
    (model, *_) = run.models
    system = LimitedPasses(run.engine(model), PASSES)
    for problem in problems:
        run.add_answer(model, system.way, problem, SETTING, *system.answer(problem, SETTING))
