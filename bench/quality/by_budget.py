"""Measures how many first answers are right within each of several budgets, in real time.

    python -m bench.quality.by_budget --packages training/recent --holes 60 --out bench/results/by-budget.jsonl
    python -m bench.quality.by_budget … --llama http://127.0.0.1:8012
    python -m bench.quality.by_budget … --systems engine --simulate costs.json

Every system is asked at the same holes with every budget, one after the other, so that all meet the same machine. `left
to right` is the product without mask rows, and nothing else changed. With --llama, the URL of a running llama-server,
llama.cpp answers, too. Run it with nothing else running. Writes every reply as a JSON line to --out, one chart and a
summary beside it. The same command goes on where a stopped run ended.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.json_lines import Unfinished, write_lines
from bench.quality.measuring import Kept, measure
from bench.quality.problems.holes import draw_tasks
from bench.quality.reports.charts import draw_by_budget
from bench.quality.reports.outcomes import ALL, Outcome, summarise
from bench.quality.systems.product import PRODUCT, WARM_MS, EngineSystem, ObservedEngine, Question, Reply, copy, reply
from bench.quality.systems.simulated_time import add_simulate, read_costs, simulate
from bench.sources import read_packages
from infill_engine.budget.deadline import Clock, Deadline, now
from infill_engine.diagnostics.benchmark.machine import describe_machine
from infill_engine.engine.engine_loading import load_engine
from infill_engine.engine.remote.address import Address, read_address
from infill_engine.engine.remote.dialects import FimRequest
from infill_engine.engine.remote.proposer import MAX_TOKENS, MAX_TOKENS_OF_LINES
from infill_engine.engine.remote.server import Server
from infill_engine.errors import InfillError, InputError
from infill_engine.sampling.trunk.tree_sampler import TreeSampler

BUDGETS_MS = (100, 150, 250, 400, 600, 1000)
SETTLE_SECONDS = 0.5  # until llama-server has stopped writing, which would slow down whoever is asked next
LLAMA, LEFT_TO_RIGHT = "llama.cpp", "left to right"
SYSTEMS = ("copy", LEFT_TO_RIGHT, PRODUCT)


@dataclass(frozen=True, slots=True)
class LeftToRight:
    """The product without mask rows."""

    product: EngineSystem

    def __call__(self, question: Question) -> Reply:
        sampler = self.product.engine.proposer
        if not isinstance(sampler, TreeSampler):
            raise InputError("only the default model is compared with left to right")
        sampler.model.denoises = False
        try:
            return self.product(question)
        finally:
            sampler.model.denoises = True


@dataclass(frozen=True, slots=True)
class Llama:
    """A llama-server's greedy text as far as it came in time; of a hole of one line, its first line.

    The server reads the text up to the cursor's line before the clock starts, as every system does.
    """

    address: Address
    budget_ms: float

    def __call__(self, question: Question) -> Reply:
        request, one_line = question.request, question.hole.max_lines == 1
        server = Server(self.address)  # a new one, because answers that come late are no fault here
        above = FimRequest(request.prefix[: request.prefix.rfind("\n") + 1], request.suffix, True, 1, 0.0, 0)
        warmed = server.ask([above], Deadline.after_ms(WARM_MS), 0.0)
        if warmed.user_message:
            raise InputError(warmed.user_message)
        started = perf_counter()
        asked = replace(
            above, prefix=request.prefix, one_line=one_line, max_tokens=MAX_TOKENS if one_line else MAX_TOKENS_OF_LINES
        )
        found = server.ask([asked], Deadline.after_ms(self.budget_ms), 0.0)
        replied = reply(question, [(text.text, 0.0) for text in found.texts], started)
        time.sleep(SETTLE_SECONDS)
        return replied


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Return its exit status."""
    options = _parser().parse_args(sys.argv[1:] if arguments is None else arguments)
    try:
        tasks = draw_tasks(read_packages(options.packages), options.holes, options.seed, with_project=options.project)
        engine = ObservedEngine.of(load_engine(options.model))
        costs = read_costs(options.simulate)
        clock = simulate(engine, costs) if costs else now
        address = read_address(f"llama:{options.llama}") if options.llama else None
        settings = settings_of(options, engine)
        kept = Kept(Unfinished(options.out, settings))
        systems = {
            _name(system, budget): make(budget)
            for budget in options.budgets
            for system, make in makers_of(engine, clock, address).items()
            if system in (*options.systems, LLAMA)
        }
        outcomes = measure(tasks, systems, options.candidates, max(options.budgets), engine.window, kept)
    except InfillError as fault:
        print(fault, file=sys.stderr)
        return 2
    report(outcomes, settings, options.out)
    kept.unfinished.path.unlink()
    return 0


def makers_of(engine: ObservedEngine, clock: Clock, address: Address | None) -> dict[str, Callable[[float], Any]]:
    """Return what makes each system for a budget."""
    product = partial(EngineSystem, engine, clock=clock)
    found: dict[str, Callable[[float], Any]] = {
        "copy": lambda _budget: copy,
        LEFT_TO_RIGHT: lambda budget: LeftToRight(product(budget)),
        PRODUCT: product,
    }
    return found | ({LLAMA: partial(Llama, address)} if address else {})


def settings_of(options: argparse.Namespace, engine: ObservedEngine) -> dict[str, Any]:
    """Return what the results depend on besides the holes."""
    return {
        "processor": describe_machine()["processor"],
        "profile": engine.profile,
        "model": options.model,
        "candidates": options.candidates,
        "budgets_ms": options.budgets,
        "seed": options.seed,
        "project": options.project,
        "data": options.packages.name,
        "simulated": str(read_costs(options.simulate) or ""),
        LLAMA: bool(options.llama),
    }


def report(outcomes: Sequence[Outcome], settings: Mapping[str, Any], out: Path) -> None:
    """Write the raw results to `out` with chart and summary beside it, and print the summary as the last line."""
    rows, by_budget = [], {}
    for budget in settings["budgets_ms"]:
        at_budget = [
            replace(outcome, system=system, late=outcome.elapsed_ms > budget)
            for outcome in outcomes
            for system, of in [_split(outcome.system)]
            if of == budget
        ]
        rows += [{"budget_ms": budget, **asdict(outcome)} for outcome in at_budget]
        by_budget[budget] = {name: kinds[ALL] for name, kinds in summarise(at_budget, settings["candidates"]).items()}
    stem = out.name.split(".")[0]
    draw_by_budget(by_budget, out.with_name(f"{stem}.png"))
    line = {**settings, "by_budget": by_budget}
    out.with_name(f"{stem}-summary.json").write_text(json.dumps(line, indent=1) + "\n")
    print(f"raw results in {write_lines(rows, out)}")
    print(json.dumps(line))


def _name(system: str, budget: float) -> str:
    return f"{system} in {budget:g} ms"


def _split(name: str) -> tuple[str, float]:
    """Return the system and the budget of a name."""
    system, _, budget = name.removesuffix(" ms").rpartition(" in ")
    return system, float(budget)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.quality.by_budget", description="Measures by budget.")
    add = parser.add_argument
    add("--packages", type=Path, default=Path("training/heldout"), help="folder of held-out wheels or source folders")
    add("--holes", type=int, default=60, help="non-trivial holes of each kind")
    add("--seed", type=int, default=0)
    add("--candidates", type=int, default=4)
    add("--budgets", type=float, nargs="+", default=list(BUDGETS_MS), metavar="MS")
    add("--project", action="store_true", help="search the other files of the package for drafts too")
    add("--model", default="default")
    add("--systems", nargs="+", default=SYSTEMS, choices=SYSTEMS, metavar="NAME", help=", ".join(SYSTEMS))
    add_simulate(parser)
    add("--llama", metavar="URL", help="of a running llama-server, to be compared")
    add("--out", type=Path, required=True, help="where the raw results go; chart and summary go beside it")
    return parser


if __name__ == "__main__":
    sys.exit(main())
