"""The product's answers to the problems: against its passes, its budget and its number of candidates."""

from collections.abc import Sequence
from functools import partial

from infill_engine.diagnostics.benchmark.problems.loading import Problem
from infill_engine.diagnostics.benchmark.suites.plan import Sweep
from infill_engine.diagnostics.benchmark.suites.running import Run, Unit, parted
from infill_engine.diagnostics.benchmark.systems.answered import Setting
from infill_engine.diagnostics.benchmark.systems.served import SERVED

QUALITY = "quality"
AT_ONCE = 26
SECONDS_A_PROBLEM = 0.3


def quality_units(run: Run, sweeps: Sequence[Sweep]) -> list[Unit]:
    """Return the units of some sweeps."""
    units: list[Unit] = []
    for sweep in sweeps:
        for model in run.models[1:] if sweep.others else run.models[:1]:
            units += _units(run, model, sweep)
    return units


def _units(run: Run, model: str, sweep: Sweep) -> list[Unit]:
    setting = sweep.setting
    limit = f"{setting.passes} passes" if setting.passes else f"{setting.budget_ms:.0f} ms"
    key = f"quality {model} {setting.candidates} in {limit}"
    problems = list(run.problems[:: sweep.stride])
    return parted(key, problems, AT_ONCE, SECONDS_A_PROBLEM, partial(_sweep, run, model, setting))


def _sweep(run: Run, model: str, setting: Setting, problems: list[Problem]) -> None:
    system = run.system(model, SERVED)
    for problem in problems:
        run.ask(QUALITY, model, system, problem, setting)
