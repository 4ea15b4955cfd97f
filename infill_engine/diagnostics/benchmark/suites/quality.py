"""The product's answers to the problems: against its passes, its budget and its number of candidates."""

from functools import partial

from infill_engine.diagnostics.benchmark.problems.loading import Problem
from infill_engine.diagnostics.benchmark.suites.plan import GATED, Sweep
from infill_engine.diagnostics.benchmark.suites.running import Run, Unit, parted
from infill_engine.diagnostics.benchmark.systems.answered import Setting
from infill_engine.diagnostics.benchmark.systems.served import SERVED

QUALITY = "quality"
AT_ONCE = 40
SECONDS_A_PROBLEM = 0.25


def quality_units(run: Run, *, gated: bool) -> list[Unit]:
    """The units of all sweeps; with `gated`, of the one that is compared with committed results, else of the others."""
    units: list[Unit] = []
    for sweep in run.plan.sweeps:
        if gated == (sweep.setting == GATED):
            for model in run.models[:1] if sweep.main else _models_of(run, sweep):
                units += _units(run, model, sweep)
    return units


def _models_of(run: Run, sweep: Sweep) -> tuple[str, ...]:
    """All models that no other sweep with the same setting has."""
    main_has_it = any(other.main and other.setting == sweep.setting for other in run.plan.sweeps)
    return run.models[1:] if main_has_it else run.models


def _units(run: Run, model: str, sweep: Sweep) -> list[Unit]:
    setting = sweep.setting
    limit = f"{setting.passes} passes" if setting.passes else f"{setting.budget_ms:.0f} ms"
    key = f"quality {model} {setting.candidates} in {limit}"
    problems = list(run.problems[:: sweep.stride])
    return parted(key, problems, AT_ONCE, SECONDS_A_PROBLEM, partial(_sweep, run, model, setting))


def _sweep(run: Run, model: str, setting: Setting, problems: list[Problem]) -> None:
    system = run.system(model, SERVED)
    assert system is not None
    for problem in problems:
        run.ask(QUALITY, model, system, problem, setting)
