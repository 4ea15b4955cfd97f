"""Prints what differs between two runs, with intervals."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from bench.runs.comparison import Difference, compare, doubts
from bench.runs.reading import read_results
from infill_engine.diagnostics.benchmark.statistics import SIGNIFICANT
from infill_engine.errors import InputError
from lsp_server.cli.terminal import console_of


def run(options: argparse.Namespace) -> int:
    """Print every difference. With --fail-on-loss, return 1 if quality is significantly worse in B.

    Raises InputError if a file cannot be read or the runs have nothing in common.
    """
    before, after = (read_results(Path(path).expanduser()) for path in (options.before, options.after))
    found, doubtful = compare(before, after), doubts(before, after)
    if not found:
        raise InputError(f"{options.before} and {options.after} measured nothing in common; compare runs of one suite")
    lost = [each for each in found if each.is_loss]
    if options.json:
        print(json.dumps({"differences": [asdict(each) for each in found], "doubts": doubtful, "loss": bool(lost)}))
    else:
        _print(found, doubtful)
    return int(bool(lost) and options.fail_on_loss)


def _print(found: list[Difference], doubtful: list[str]) -> None:
    console = console_of(sys.stdout)
    for sentence in doubtful:
        console.print(sentence, soft_wrap=True)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("B against A", "change", "95 % interval", "p", "n", ""):
        table.add_column(heading, justify="left" if heading in ("B against A", "") else "right", overflow="fold")
    for each in found:
        value, low, high = (_shown(number, each.unit) for number in _numbers(each))
        outcome = "LOSS" if each.is_loss else "differs" if each.estimate.p < SIGNIFICANT else ""
        table.add_row(each.what, value, f"{low} to {high}", f"{each.estimate.p:.3f}", str(each.pairs), outcome)
    console.print(table)


def _numbers(each: Difference) -> tuple[float, float, float]:
    return each.estimate.value, each.estimate.low, each.estimate.high


def _shown(number: float, unit: str) -> str:
    if unit == "times":
        return f"× {number:.3f}"
    return f"{100 * number:+.1f} points" if unit == "points" else f"{100 * number:+.2f} % per 100"
