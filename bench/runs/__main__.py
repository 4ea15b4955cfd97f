"""Measures what a build answers and how fast it is, so that two builds can be compared.

    python -m bench.runs gate --out bench/results/gate
    python -m bench.runs speed --out before
    python -m bench.runs compare A B --fail-on-loss

`gate` limits passes in place of time, so a busy or slow machine gives the same answers. `speed` measures single passes
and whether they become slower.
"""

import argparse
import sys
from typing import TYPE_CHECKING

from bench.runs import compare
from infill_engine.errors import InfillError
from infill_engine.serving.starting import set_threads
from lsp_server.cli.bench.command import begin, measure

if TYPE_CHECKING:
    from infill_engine.diagnostics.benchmark.running import Run, Unit


def main() -> int:
    """Run the command line. Return its exit status."""
    options = _parser().parse_args()
    try:
        if options.what == "compare":
            return compare.run(options)
        set_threads()  # must run before torch is imported
        return _measure(options)
    except InfillError as error:
        print(error, file=sys.stderr)
        return 2


def _measure(options: argparse.Namespace) -> int:
    options.suite = options.what
    run = begin(options, (options.model,))
    try:
        interrupted = measure(run.results, _units(run, options.what), 0.0)
    finally:
        run.results.close()
    return int(interrupted or not any(run.results.of(what) for what in ("answer", "pass", "generation")))


def _units(run: "Run", what: str) -> "list[Unit]":
    from bench.runs.drift import drift_unit
    from bench.runs.gate import gate_units
    from bench.runs.processes import process_units

    return gate_units(run) if what == "gate" else [*process_units(run), drift_unit(run)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.runs", description=__doc__)
    commands = parser.add_subparsers(dest="what", required=True)
    for what in ("gate", "speed"):
        command = commands.add_parser(what)
        command.add_argument("--model", default="default", help="the model (%(default)s)")
        command.add_argument("--out", required=True, metavar="DIR", help="folder of the results")
        command.add_argument("--device", default="auto")
        command.add_argument("--precision", default="auto")
        command.add_argument("--problems", nargs="+", metavar="FILE", help="other problems than the bundled ones")
    compared = commands.add_parser("compare")
    compared.add_argument("before", metavar="A", help="the folder or file of a run")
    compared.add_argument("after", metavar="B", help="the folder or file of another run")
    compared.add_argument("--fail-on-loss", action="store_true", help="status 1 if quality is significantly worse in B")
    compared.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


if __name__ == "__main__":
    sys.exit(main())
