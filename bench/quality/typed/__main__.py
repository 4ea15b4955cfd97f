"""Retypes code of held-out packages character by character and counts the keystrokes that suggestions save.

    python -m bench.quality.typed --packages training/heldout --holes 120 --project --out bench/results/typed.jsonl

A line of code is missing from its file, or an argument from the middle of a line. Before every character the product is
queried as an editor does automatically. A simulated user then types with these answers. They read everything shown,
accept it with one keystroke if every character is right as far as it goes, and otherwise type on by hand. A suggestion
that they have begun to type stays shown as its remaining text. A single character is not shown, as in the product. How
much is shown depends on the confidence threshold, so this is repeated for many thresholds; the table is for the model's
own.

With --unwritten there is no text below the line, as in a file that is being written.

The baseline is the first copy from the project, shown whenever there is one. Writes one JSON line per hole and system
to --out, a chart and a summary next to it, and one JSON object as the last line printed.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from time import monotonic

from bench.json_lines import write_lines
from bench.quality.problems.holes import draw_tasks
from bench.quality.reports.outcomes import ALL
from bench.quality.systems.product import PRODUCT, ObservedEngine
from bench.quality.systems.simulated_time import RecordedCosts, add_simulate, read_costs, simulate
from bench.quality.typed.charts import KINDS, draw, print_table
from bench.quality.typed.figures import curve, groups_of, summarise
from bench.quality.typed.retyping import Looks, Product, first_copy, look_everywhere, unwritten
from bench.sources import read_packages
from infill_engine.budget.deadline import now
from infill_engine.engine.engine_loading import load_engine
from infill_engine.errors import InfillError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Return its exit status."""
    options = _parser().parse_args(sys.argv[1:] if arguments is None else arguments)
    try:
        options.simulate = read_costs(options.simulate)
        tasks = draw_tasks(read_packages(options.packages), options.holes, options.seed, with_project=options.project)
        engine = ObservedEngine.of(load_engine(options.model, device=options.device))
        clock = simulate(engine, options.simulate) if options.simulate else now
    except InfillError as fault:
        print(fault, file=sys.stderr)
        return 2
    product = Product(engine, options.budget_ms, clock, options.pause_ms)
    wanted = [task for task in tasks if task.kind in KINDS and not task.trivial and "\n" not in task.gold]
    if options.unwritten:
        wanted = [unwritten(task) for task in wanted]
    results, began = [], monotonic()
    for number, task in enumerate(wanted, 1):
        results += [
            look_everywhere(task, "copy", first_copy, options.candidates, engine.window),
            look_everywhere(task, PRODUCT, product, options.candidates, engine.window),
        ]
        if number % 20 == 0 or number == len(wanted):
            print(f"{number} of {len(wanted)} holes, {monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    report(results, product, options)
    return 0


def report(results: Sequence[Looks], product: Product, options: argparse.Namespace) -> None:
    """Write the raw results, the chart and the summary; print the table and the last line."""
    summary = summarise(results, product.show_from, options.budget_ms)
    curves = {
        f"{system}, {kind}": curve(group) if system == PRODUCT else curve(group)[:1]
        for (system, kind), group in groups_of(results).items()
        if kind != ALL
    }
    line = {"show_from": product.show_from, "profile": product.engine.profile, "systems": summary, "curves": curves} | {
        name: str(value) if isinstance(value, Path | RecordedCosts) else value for name, value in vars(options).items()
    }
    if options.out:
        print(f"every look in {write_lines((asdict(result) for result in results), options.out)}")
        stem = options.out.name.split(".")[0]
        options.out.with_name(f"{stem}-summary.json").write_text(json.dumps(line, indent=1) + "\n")
        draw(curves, product.show_from, options.out.with_name(f"{stem}.png"))
    print_table(summary)
    print(json.dumps(line))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.quality.typed", description="Counts what typing is saved.")
    add = parser.add_argument
    add("--packages", type=Path, default=Path("training/heldout"), help="folder of held-out wheels or source folders")
    add("--holes", type=int, default=120, help="of each kind")
    add("--seed", type=int, default=0)
    add("--project", action="store_true", help="search the other files of the package for drafts too")
    add("--unwritten", action="store_true", help="leave out what stands below the line")
    add("--candidates", type=int, default=4)
    add("--budget-ms", type=float, default=150)
    add("--pause-ms", type=float, help="go on with the search for that long after each answer, as the product does")
    add_simulate(parser)
    add("--model", default="default")
    add("--device", default="auto")
    add("--out", type=Path, help="where the raw results go; chart and summary go beside it")
    return parser


if __name__ == "__main__":
    sys.exit(main())
