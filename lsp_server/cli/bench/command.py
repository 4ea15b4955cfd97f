"""`infill-ls bench`: measures this machine, reports what it found, and sets what it recommends if asked to.

Every measurement is on disk before the next one begins. A run that is interrupted reports what it has.
"""

import argparse
import json
import sys
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from infill_engine.engine.remote.address import is_remote
from infill_engine.errors import InfillError, InputError
from infill_engine.models.registry import TRUNK, folder_of, resolved
from infill_engine.serving.starting import load_local, set_threads
from infill_engine.settings import ModelSettings
from lsp_server.cli import BENCH_PARTS, INTERRUPTED
from lsp_server.cli.terminal import console_of, doing
from lsp_server.settings.file import write_file
from lsp_server.settings.schema import ServerSettings

if TYPE_CHECKING:
    from infill_engine.diagnostics.benchmark.results import Results
    from infill_engine.diagnostics.benchmark.running import Run, Unit
    from infill_engine.diagnostics.benchmark.verdict import Verdict

LEAST_PACES = 3  # units that must have been measured before the rest is planned by their pace


def run(options: argparse.Namespace) -> int:
    """Measure, report, and apply the verdict if asked to. Return 1 if nothing could be measured."""
    set_threads()  # must run before torch is imported
    models = _models(options)
    with doing("looking at this machine"):
        made = begin(options, models)
    units, most_seconds = _units(made, options)
    interrupted = measure(made.results, units, most_seconds)
    made.results.close()
    return _conclude(made.results, options, interrupted=interrupted)


def _models(options: argparse.Namespace) -> tuple[str, ...]:
    """Return the models to measure. Raises InfillError for one that is not here."""
    models = tuple(dict.fromkeys(resolved(name, Path.cwd()) for name in options.model or (TRUNK,)))
    for name in models:
        if is_remote(name):
            raise InputError(f"{name} is a server; the benchmark measures models on this machine")
        folder_of(name)
    return models


def begin(options: argparse.Namespace, models: tuple[str, ...]) -> "Run":
    """Return a run whose results go to `options.out`. Raises InputError."""
    from infill_engine.diagnostics.benchmark.machine import describe_machine, describe_software, doubts
    from infill_engine.diagnostics.benchmark.problems.execution import has_no_network
    from infill_engine.diagnostics.benchmark.problems.problem_files import digest, load_problems
    from infill_engine.diagnostics.benchmark.results import create
    from infill_engine.diagnostics.benchmark.running import Run

    problems = load_problems([Path(path) for path in options.problems] if options.problems else None)
    header = {
        **describe_software(),
        "suite": options.suite,
        "models": list(models),
        "device": options.device,
        "precision": options.precision,
        "problems": digest(problems),
        "machine": describe_machine(),
        "network_cut": has_no_network(),
        "began": time.strftime("%Y-%m-%d %H:%M:%S%z"),
    }
    folder = Path(options.out or time.strftime("infill-bench-%Y%m%d-%H%M%S")).expanduser()
    results = create(folder, header)
    for sentence in doubts():
        results.add("doubt", sentence=sentence)
    settings = ModelSettings(dtype=options.precision)
    return Run(models, problems, results, partial(load_local, device=options.device, settings=settings))


def _units(made: "Run", options: argparse.Namespace) -> "tuple[list[Unit], float]":
    """Return all units in order, and the seconds that they may take together."""
    from infill_engine.diagnostics.benchmark.running import PLANS, quality_units
    from lsp_server.cli.bench.typing import typing_unit

    plan, wanted, usual = PLANS[options.suite], options.only or BENCH_PARTS, ServerSettings()
    settings = {"model": made.models[0], "budgetMs": usual.budget_ms, "candidates": usual.candidates}
    settings |= {"device": options.device, "precision": options.precision}
    typing = [typing_unit(made.results, plan.keystrokes, settings)] if "typing" in wanted else []
    quality = quality_units(made, plan) if "quality" in wanted else []
    return [*typing, *quality], plan.most_seconds


def measure(results: "Results", units: "list[Unit]", most_seconds: float) -> bool:
    """Measure all units, each after a line about the progress. Return whether the user interrupted this.

    A unit that would probably end after `most_seconds` is left out; 0 means no limit.
    """
    console, total, planned = console_of(sys.stderr), sum(unit.seconds for unit in units), 0.0
    began, paces = time.monotonic(), list[float]()  # how much longer than expected each unit took
    try:
        for unit in units:
            console.print(f"{planned / total:4.0%}  {unit.name}", soft_wrap=True)
            planned += unit.seconds
            spent = time.monotonic() - began
            # The first units load models, which says nothing about the others.
            pace = max(1.0, median(paces)) if len(paces) >= LEAST_PACES else 1.0
            if most_seconds and spent + pace * unit.seconds > most_seconds:
                results.missing(unit.name, f"it did not fit into {most_seconds:.0f} seconds")
                continue
            try:
                unit.run()
            except InfillError as error:
                results.missing(unit.name, str(error))
            paces.append((time.monotonic() - began - spent) / unit.seconds)
    except KeyboardInterrupt:
        results.missing("the rest", "the run was interrupted")
        return True
    return False


def _conclude(results: "Results", options: argparse.Namespace, *, interrupted: bool) -> int:
    """Judge, apply the verdict if asked to, and print the report."""
    from infill_engine.diagnostics.benchmark.verdict import judge
    from lsp_server.cli.bench.report import not_measured, print_report

    verdict = judge(results)
    applied = _apply(verdict, results) if options.apply and verdict is not None and not interrupted else None
    if options.json:
        said = {
            "verdict": None if verdict is None else asdict(verdict),
            "results": str(results.path),
            "applied": None if applied is None else str(applied),
            "not_measured": not_measured(results),
            "doubts": [line["sentence"] for line in results.of("doubt")],
        }
        print(json.dumps(said))
    else:
        console = console_of(sys.stdout)
        print_report(results, verdict, console)
        if applied is not None:
            console.print(f"Written to {applied}. Restart the editor's server to use it.", soft_wrap=True)
    if interrupted:
        return INTERRUPTED
    return 0 if results.of("answer") or results.of("keystroke") else 1


def _apply(verdict: "Verdict", results: "Results") -> Path:
    header = results.header
    measured = {
        "reason": verdict.reason,
        "numbers": verdict.numbers,
        "version": header["version"],
        "processor": header["machine"]["processor"],
        "began": header["began"],
        "results": str(results.path.resolve()),
    }
    chosen = {"model": verdict.model, "budgetMs": verdict.budget_ms, "candidates": verdict.candidates}
    return write_file(chosen, measured)
