"""Compares candidates with the original code, next to simpler systems in the same run.

    python -m bench.quality --packages training/heldout --holes 300 --out bench/results/quality.jsonl
    python -m bench.quality --data problems.jsonl.gz --execute --out bench/results/problems.jsonl
    python -m bench.quality --languages training/held-out-languages --holes 60 --out bench/results/languages.jsonl

Writes every reply as a JSON line to --out (gzipped if large), charts next to it, a table to the terminal, and one JSON
object as the last line. Replies are kept as they come: the same command goes on where a stopped run ended.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from bench.json_lines import Unfinished
from bench.quality.measuring import Kept, measure
from bench.quality.problems.holes import Task, draw_tasks
from bench.quality.problems.humaneval import Problem, read_problems
from bench.quality.problems.language_holes import draw_language_tasks
from bench.quality.reports.outcomes import Outcome
from bench.quality.reports.writing import last_line, report
from bench.quality.systems.beams import BeamSystem
from bench.quality.systems.product import (
    EngineSystem,
    ObservedEngine,
    System,
    copy,
    drafts,
    nothing,
)
from bench.quality.systems.simulated_time import add_simulate, read_costs, simulate
from bench.sources import read_packages
from infill_engine.budget.deadline import Clock, now
from infill_engine.diagnostics.benchmark.problems.execution import passes
from infill_engine.engine.engine_loading import load_engine
from infill_engine.errors import InfillError, InputError
from infill_engine.sampling.trunk.tree_sampler import TreeSampler

SYSTEMS = ("nothing", "copy", "drafts", "beams", "engine", "model-only")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Return its exit status."""
    options = _parser().parse_args(sys.argv[1:] if arguments is None else arguments)
    try:
        problems = {problem.task.id: problem for problem in read_problems(options.data)} if options.data else {}
        tasks = [problem.task for problem in problems.values()] or _drawn(options)
        systems, engine = systems_of(options)
        settings = settings_of(options, engine)
        kept = Kept(Unfinished(options.out, settings)) if options.out else None
    except InfillError as fault:
        print(fault, file=sys.stderr)
        return 2
    outcomes = measure(tasks, systems, options.candidates, options.budget_ms, engine.window, kept)
    if options.execute:
        outcomes = executed(outcomes, problems)
    if options.out:
        report(outcomes, settings, options.out, languages=bool(options.languages))
    if kept:
        kept.unfinished.path.unlink()
    print(json.dumps(last_line(outcomes, settings)))
    return 0


def systems_of(options: argparse.Namespace) -> tuple[dict[str, System], ObservedEngine]:
    """Return the requested systems by name, and the engine behind two of them.

    Systems that are not available are reported and left out. Raises InputError for an unknown name, and whatever
    loading the model raises.
    """
    unknown = set(options.systems) - set(SYSTEMS)
    if unknown:
        raise InputError(f"unknown systems {', '.join(sorted(unknown))}; there are {', '.join(SYSTEMS)}")
    costs = read_costs(options.simulate)
    engine = ObservedEngine.of(load_engine(options.model, device=options.device))
    if options.left_to_right and isinstance(engine.proposer, TreeSampler):
        engine.proposer.model.denoises = False
    clock = simulate(engine, costs) if costs else now
    product = EngineSystem(
        engine, options.budget_ms, cold=options.cold, clock=clock, typed=options.typed, pause_ms=options.pause_ms
    )
    makers: dict[str, Callable[[], System]] = {
        "nothing": lambda: nothing,
        "copy": lambda: copy,
        "drafts": lambda: drafts,
        "beams": partial(_beams, engine, options, clock),
        "engine": lambda: product,
        "model-only": lambda: replace(product, with_drafts=False),
    }
    systems: dict[str, System] = {}
    for name in SYSTEMS:
        if name in options.systems:
            try:
                systems[name] = makers[name]()
            except InputError as fault:
                print(f"left out {name}: {fault}", file=sys.stderr)
    return systems, engine


def executed(outcomes: Sequence[Outcome], problems: dict[str, Problem]) -> list[Outcome]:
    """Return the outcomes with whether each completed program passed its tests.

    Runs their code: see infill_engine.diagnostics.benchmark.problems.execution.
    """
    known: dict[tuple[str, str], bool] = {}
    found = []
    for outcome in outcomes:
        passed = []
        for text in outcome.texts:
            key = (outcome.id, text)
            if key not in known:
                known[key] = passes(problems[outcome.id].program(text))
            passed.append(known[key])
        found.append(replace(outcome, passed=passed))
    return found


def settings_of(options: argparse.Namespace, engine: ObservedEngine) -> dict[str, Any]:
    """Return what the results depend on besides the holes."""
    return {
        "model": options.model,
        "device": engine.device,
        "profile": engine.profile,
        "candidates": options.candidates,
        "budget_ms": options.budget_ms,
        "simulated": str(read_costs(options.simulate) or ""),
        "typed": options.typed,
        "pause_ms": options.pause_ms,
        "left_to_right": options.left_to_right,
        "seed": options.seed,
        "data": str(options.data or options.languages or options.packages),
    }


def _drawn(options: argparse.Namespace) -> list[Task]:
    if options.execute:
        raise InputError("--execute needs --data: only problems come with tests")
    if options.languages:
        return draw_language_tasks(
            options.languages, options.holes, options.seed, only=options.only, with_project=options.project
        )
    return draw_tasks(read_packages(options.packages), options.holes, options.seed, with_project=options.project)


def _beams(engine: ObservedEngine, options: argparse.Namespace, clock: Clock) -> System:
    if not isinstance(engine.proposer, TreeSampler):
        raise InputError("only the trunk is decoded left to right beside the product")
    return BeamSystem(engine.proposer.model, options.budget_ms, clock=clock)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.quality", description="Measures candidates.")
    add = parser.add_argument
    add("--packages", type=Path, default=Path("training/heldout"), help="folder of held-out wheels or source folders")
    add("--data", type=Path, help="problems in HumanEval-Infilling's format, instead of packages")
    add("--languages", type=Path, help="folder with a folder of held-out packages for each language, instead")
    add("--only", nargs="+", default=[], metavar="LANGUAGE", help="with --languages: these alone")
    add("--execute", action="store_true", help="with --data: run the completed programs with their tests")
    add("--holes", type=int, default=300, help="non-trivial holes of each kind")
    add("--seed", type=int, default=0)
    add("--candidates", type=int, default=4)
    add("--budget-ms", type=float, default=150)
    add_simulate(parser)
    add("--model", default="default")
    add("--device", default="auto")
    add("--left-to-right", action="store_true", help="without blocks of masked tokens")
    add("--systems", nargs="+", default=list(SYSTEMS), metavar="NAME", help=", ".join(SYSTEMS))
    add("--project", action="store_true", help="search the other files of the package for drafts too")
    add("--cold", action="store_true", help="do not encode the text above the cursor's line beforehand")
    add("--typed", type=int, default=0, metavar="N", help="the last N characters of the line were typed just before")
    add("--pause-ms", type=float, default=200.0, help="with --typed: the time after each character")
    add("--out", type=Path, help="where the raw results go; the charts and the summary go beside it")
    return parser


if __name__ == "__main__":
    sys.exit(main())
