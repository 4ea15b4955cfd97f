"""`infill-ls bench`: measures this machine, reports what it found, and sets what it recommends if asked to.

Every measurement is on disk before the next one begins. An interrupted run goes on if it is started again with the same
--out. `infill-ls bench compare A B` compares two runs (`compare`).
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from infill_engine.engine.remote.address import is_remote
from infill_engine.errors import InfillError, InputError, ModelError
from infill_engine.models.registry import SMALL, TRUNK, folder_of, resolved
from infill_engine.serving.loading import load_local, set_threads
from infill_engine.settings import EngineSettings, ModelSettings
from lsp_server.cli import BENCH_PARTS, INTERRUPTED
from lsp_server.cli.bench import compare
from lsp_server.cli.terminal import console_of, say
from lsp_server.settings.file import write_file
from lsp_server.settings.schema import ServerSettings

if TYPE_CHECKING:
    from infill_engine.diagnostics.benchmark.results import Results
    from infill_engine.diagnostics.benchmark.suites.running import Run, Unit
    from infill_engine.diagnostics.benchmark.verdict import Verdict
    from infill_engine.engine.local import LocalEngine

NO_FIGHT = "none of these models can be decoded from left to right; name the default model with --model"
LEAST_PACES = 3  # units that must have been measured before the rest is planned by their pace
Show = Callable[[str, float, float], None]  # what is measured, seconds done, seconds in all


def run(options: argparse.Namespace) -> int:
    """Measure, report, and apply the verdict if asked to. Return 1 if nothing could be measured."""
    if options.what == "compare":
        return compare.run(options)
    set_threads()  # must run before torch is imported
    models, missing = _models(options)
    with say("looking at this machine"):
        results, made = _begin(options, models)
    for sentence in missing:
        results.missing(*sentence)
    interrupted = _measure(made, _units(made, options), console_of(sys.stderr))
    results.close()
    return _conclude(results, options, interrupted=interrupted)


def _models(options: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[str, str]]]:
    """Return the models to measure, and those of the usual ones that are not here with the reason.

    Raises InfillError for a model that was named and is not here.
    """
    named = tuple(dict.fromkeys(resolved(name, Path.cwd()) for name in options.model or ()))
    for name in named:
        if is_remote(name):
            raise InputError(f"{name} is a server; the benchmark measures models on this machine")
        folder_of(name)
    if named:
        return named, []
    try:
        folder_of(TRUNK)
    except ModelError as error:
        return (SMALL,), [(TRUNK, str(error))]
    return (TRUNK, SMALL), []


def _begin(options: argparse.Namespace, models: tuple[str, ...]) -> "tuple[Results, Run]":
    from infill_engine.diagnostics.benchmark.machine import describe_machine, describe_software, doubts
    from infill_engine.diagnostics.benchmark.problems.execution import has_no_network
    from infill_engine.diagnostics.benchmark.problems.loading import digest, load_problems
    from infill_engine.diagnostics.benchmark.results import create_or_resume
    from infill_engine.diagnostics.benchmark.suites.plan import PLANS
    from infill_engine.diagnostics.benchmark.suites.running import Run
    from infill_engine.diagnostics.benchmark.systems.peers import find_peers

    problems = load_problems([Path(path) for path in options.problems] if options.problems else None)
    header = {
        **describe_software(),
        "suite": options.suite,
        "models": list(models),
        "seed": options.seed,
        "device": options.device,
        "precision": options.precision,
        "problems": digest(problems),
        "machine": describe_machine(),
        "network_cut": has_no_network(),
        "began": time.strftime("%Y-%m-%d %H:%M:%S%z"),
    }
    results = create_or_resume(_folder(options), header)
    for sentence in doubts():
        results.add("doubt", sentence=sentence)
    peers, unavailable = find_peers(options.llama_server, options.gguf)
    for name, why in unavailable if PLANS[options.suite].bouts else ():
        results.missing(name, why)
    load = partial(_load, options.device, ModelSettings(dtype=options.precision))
    return results, Run(PLANS[options.suite], models, problems, results, load, peers)


def _load(device: str, model_settings: ModelSettings, model: str, settings: EngineSettings) -> "LocalEngine":
    """Load a model; in this process, and in those that the drift suite spawns."""
    return load_local(model, device, EngineSettings(settings.sampler, model_settings, settings.budget_ms))


def _folder(options: argparse.Namespace) -> Path:
    return Path(options.out).expanduser() if options.out else Path(time.strftime("infill-bench-%Y%m%d-%H%M%S"))


def _units(made: "Run", options: argparse.Namespace) -> "list[Unit]":
    """Return all units in order. Replaced processes are spread evenly over the others."""
    from infill_engine.diagnostics.benchmark.suites.drift import drift_units
    from infill_engine.diagnostics.benchmark.suites.fight import fight_units
    from infill_engine.diagnostics.benchmark.suites.processes import process_units
    from infill_engine.diagnostics.benchmark.suites.quality import quality_units
    from infill_engine.diagnostics.benchmark.suites.running import is_trunk
    from lsp_server.cli.bench.replay.latency import typing_units

    wanted = set(options.only or BENCH_PARTS)
    budget_ms, engine = ServerSettings().budget_ms, {"device": options.device, "precision": options.precision}
    makers: list[tuple[str, Callable[[], list[Unit]]]] = [
        ("quality", lambda: quality_units(made, made.plan.first)),
        ("typing", lambda: typing_units(made.results, made.plan.typing, made.main, budget_ms, options.seed, engine)),
        ("drift", lambda: drift_units(made)),
        ("fight", lambda: fight_units(made)),
        ("quality", lambda: quality_units(made, made.plan.then)),
    ]
    others = [unit for part, make in makers if part in wanted for unit in make()]
    if "fight" in wanted and made.plan.bouts and not any(map(is_trunk, made.models)):
        made.results.missing("fight", NO_FIGHT)
    return list(_spread(process_units(made, passes="passes" in wanted, answers="drift" in wanted), others))


def _spread(processes: "list[Unit]", others: "list[Unit]") -> "Iterator[Unit]":
    """Yield the others, with the processes between them at equal distances in time."""
    total, done, given = sum(unit.seconds for unit in others), 0.0, 0
    for unit in others:
        due = round(len(processes) * done / total)
        yield from processes[given:due]
        given = max(given, due)
        yield unit
        done += unit.seconds
    yield from processes[given:]


def _measure(made: "Run", units: "Sequence[Unit]", console: Console) -> bool:
    """Measure all units that have not been measured yet. Return whether the user interrupted this."""
    results, plan = made.results, made.plan
    units = [unit for unit in units if unit.key not in results.finished]
    began, total, done = time.monotonic(), sum(unit.seconds for unit in units), 0.0
    paces: list[float] = []  # how much longer than expected each unit took
    with _progress(console) as show, made:
        try:
            for unit in units:
                show(unit.key, done, total)
                done += unit.seconds
                spent = time.monotonic() - began
                # The first units load models, which says nothing about the others.
                pace = max(1.0, median(paces)) if len(paces) >= LEAST_PACES else 1.0
                if plan.most_seconds and spent + pace * unit.seconds > plan.most_seconds:
                    why = f"it did not fit into the {plan.most_seconds:.0f} seconds of the {plan.name} suite"
                    results.missing(unit.key, why)
                    continue
                try:
                    made.measure(unit)
                except InfillError as error:
                    results.missing(unit.key, str(error))
                paces.append((time.monotonic() - began - spent) / unit.seconds)
        except KeyboardInterrupt:
            results.missing("the rest", "the run was interrupted")
            return True
    return False


def _conclude(results: "Results", options: argparse.Namespace, *, interrupted: bool) -> int:
    """Judge, write the report, apply the verdict if asked to, and print all of it."""
    from infill_engine.diagnostics.benchmark.report.page import not_measured, write_report
    from infill_engine.diagnostics.benchmark.verdict import judge

    verdict = judge(results)
    try:
        page = write_report(results, verdict)
    except OSError as error:
        raise InputError(
            f"the report cannot be written to {results.path.parent} ({error.strerror}); "
            f"the results are in {results.path}"
        ) from error
    applied = _apply(verdict, results) if options.apply and verdict is not None and not interrupted else None
    missing = not_measured(results)
    doubtful = [line["sentence"] for line in results.of("doubt")]
    if options.json:
        said = {
            "verdict": None if verdict is None else asdict(verdict),
            "report": str(page),
            "results": str(results.path),
            "applied": None if applied is None else str(applied),
            "not_measured": missing,
            "doubts": doubtful,
        }
        print(json.dumps(said))
    else:
        console = console_of(sys.stdout)
        sentences = ["Too little was measured for a verdict."] if verdict is None else list(verdict.sentences)
        sentences += [f"Doubtful: {sentence}" for sentence in doubtful]
        sentences += [f"Not measured: {sentence}" for sentence in missing]
        sentences.append(f"Report: {page}")
        if applied is not None:
            sentences.append(f"Written to {applied}. Restart the editor's server to use it.")
        if interrupted:
            sentences.append(f"Interrupted. To go on: infill-ls bench --suite {options.suite} --out {page.parent}")
        console.print("\n".join(sentences), soft_wrap=True)
    if interrupted:
        return INTERRUPTED
    return 0 if results.of("answer") or results.of("keystroke") or results.of("pass") else 1


def _apply(verdict: "Verdict", results: "Results") -> Path:
    measured = {
        "reason": verdict.reason,
        "numbers": verdict.numbers,
        "version": results.header["version"],
        "processor": results.header["machine"]["processor"],
        "began": results.header["began"],
        "results": str(results.path.resolve()),
    }
    return write_file(
        {"model": verdict.model, "budgetMs": verdict.budget_ms, "candidates": verdict.candidates}, measured
    )


@contextmanager
def _progress(console: Console) -> Iterator[Show]:
    """Yield the progress callback: a bar with the time left in a terminal, a line for each unit elsewhere."""
    if not console.is_terminal:
        began = time.monotonic()

        def tell(what: str, done: float, total: float) -> None:
            spent = time.monotonic() - began
            left = f", about {spent / done * (total - done):.0f} s left" if done else ""
            console.print(f"{done / total:4.0%}  {what}{left}", soft_wrap=True)

        yield tell
        return
    columns = (
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=1.0)
        yield lambda what, done, total: progress.update(task, completed=done / total, description=what)
