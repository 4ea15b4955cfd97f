"""Records what real answers take, for simulated time, and says how far a simulation with it differs from them.

    python -m bench.quality.record --packages training/recent --holes 10 --seed 3 --budget-ms 150 --out costs.json

Answers the same holes as `bench.quality` would, on the real clock and then in simulated time. Run it with nothing else
running. The last line is a JSON object with the quality and the times of both.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean, median
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from bench.quality.measuring import measure
from bench.quality.problems.holes import Task, draw_tasks
from bench.quality.reports.outcomes import ALL, Outcome, summarise
from bench.quality.systems.product import PRODUCT, EngineSystem, ObservedEngine
from bench.quality.systems.simulated_time import Pass, RecordedCosts, Rest, simulate
from bench.sources import read_packages
from infill_engine.budget.deadline import Clock, Deadline, now
from infill_engine.budget.work import Costs, Observer, Phase
from infill_engine.diagnostics.benchmark.machine import describe_machine
from infill_engine.engine.engine_loading import load_engine
from infill_engine.errors import InfillError, InputError
from infill_engine.models.runtime.devices import physical_cores, wanted_threads
from infill_engine.sampling.trunk.tree_sampler import TreeSampler
from infill_engine.types import Answer, InfillRequest

CANDIDATES = 4


@dataclass(slots=True)
class WatchedCosts(Costs):
    """Costs that keep the passes since they were taken: size, milliseconds, and the moment of the end."""

    passes: list[tuple[int, float, float]] = field(default_factory=list)

    def observe(self, phase: Phase, size: int, took_ms: float) -> None:
        """See `Costs`."""
        if phase in (Phase.READ, Phase.PASS):
            self.passes.append((size, took_ms, now()))
        Costs.observe(self, phase, size, took_ms)

    def take(self) -> list[tuple[int, float, float]]:
        """Return the passes and forget them."""
        passes, self.passes = self.passes, []
        return passes


class RecordingEngine(ObservedEngine):
    """An engine that records what its answers take."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.proposer.costs = self._costs = WatchedCosts(self.proposer.costs.phases)
        self.reading: list[Pass] = []
        self.passes: list[Pass] = []
        self.rest: list[Rest] = []

    def answer(self, request: InfillRequest, deadline: Deadline, observer: Observer | None = None) -> Answer:
        """See `Engine`."""
        self.reading += [(size, round(took, 3)) for size, took, _ in self._costs.take()]
        began = now()
        found = super().answer(request, deadline, observer)
        passes = self._costs.take()
        if passes:
            self.passes += [(size, round(took, 3)) for size, took, _ in passes]
            self.rest.append(_rest(began, passes, now()))
        return found


def _rest(began: float, passes: Sequence[tuple[int, float, float]], ended: float) -> Rest:
    """Return what an answer took outside its passes. Planning goes by after each of them, the last one included."""
    starts = [end - took / 1000 for _, took, end in passes]
    ends = [end for *_, end in passes]
    between = mean([start - end for start, end in zip(starts[1:], ends, strict=False)]) if len(passes) > 1 else 0.0
    found = (starts[0] - began, between, ended - ends[-1] - between)
    return Rest(*(round(max(1000 * seconds, 0.0), 3) for seconds in found))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Return its exit status."""
    options = _parser().parse_args(sys.argv[1:] if arguments is None else arguments)
    try:
        tasks = draw_tasks(read_packages(options.packages), options.holes, options.seed, with_project=options.project)
        engine = RecordingEngine.of(load_engine(options.model))
        costs, simulated = record(engine, tasks, options.budget_ms)
    except InfillError as fault:
        print(fault, file=sys.stderr)
        return 2
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_bytes(msgspec.json.encode(costs) + b"\n")
    print_comparison(costs.quality, simulated)
    print(json.dumps({"real": costs.quality, "simulated": simulated, "costs": str(costs)}))
    return 0


def record(engine: RecordingEngine, tasks: Sequence[Task], budget_ms: float) -> tuple[RecordedCosts, dict[str, float]]:
    """Return what answers to the tasks take, and their figures in a simulation with that.

    The engine then stays in simulated time. Raises InputError.
    """
    sampler = engine.proposer
    if not isinstance(sampler, TreeSampler):
        raise InputError("only the passes of the default model can be recorded")

    def asked(clock: Clock) -> dict[str, float]:
        product = EngineSystem(engine, budget_ms, clock=clock)
        return figures(measure(tasks, {PRODUCT: product}, CANDIDATES, budget_ms, engine.window))

    quality = asked(now)
    costs = RecordedCosts(
        describe_machine()["processor"],
        wanted_threads() or physical_cores(),
        list(sampler.model.backend.forms),
        f"{datetime.now(UTC):%Y-%m-%d %H:%M}",
        engine.reading,
        engine.passes,
        engine.rest,
        quality,
    )
    return costs, asked(simulate(engine, costs))


def figures(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Return the shares of right texts, and medians of passes and of milliseconds, over non-trivial holes."""
    found = summarise(outcomes, CANDIDATES)[PRODUCT][ALL]
    return {
        "holes": found["n"],
        "first": found["exact_match@1"],
        "of_four": found[f"exact_match@{CANDIDATES}"],
        "passes": median(outcome.extra["passes"] for outcome in outcomes if not outcome.trivial),
        "end_ms": found["p50_ms"],
    }


def print_comparison(real: Mapping[str, float], simulated: Mapping[str, float]) -> None:
    """Print each figure of real answers and of simulated ones, and their difference."""
    table = Table("", "real", "simulated", "difference")
    for name, value in real.items():
        table.add_row(name, f"{value:g}", f"{simulated[name]:g}", f"{simulated[name] - value:+g}")
    Console().print(table)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.quality.record", description="Records times of passes.")
    add = parser.add_argument
    add("--packages", type=Path, default=Path("training/heldout"), help="folder of held-out wheels or source folders")
    add("--holes", type=int, default=10, help="non-trivial holes of each kind")
    add("--seed", type=int, default=0)
    add("--budget-ms", type=float, default=150)
    add("--project", action="store_true", help="search the other files of the package for drafts too")
    add("--model", default="default")
    add("--out", type=Path, required=True, help="where the times go, for --simulate of other commands")
    return parser


if __name__ == "__main__":
    sys.exit(main())
