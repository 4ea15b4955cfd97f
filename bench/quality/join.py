"""Joins the results of runs over single languages: one table, one chart, one summary.

python -m bench.quality.join training/by-language/*.jsonl* --out bench/results/languages.jsonl
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.quality.reports.outcomes import Outcome, read_outcomes
from bench.quality.reports.writing import last_line, report
from infill_engine.errors import InfillError, InputError

SETTINGS = tuple(
    "model device profile candidates budget_ms simulated typed pause_ms seed".split()
)  # those that must be equal


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.quality.join", description="Joins results by language.")
    parser.add_argument("results", type=Path, nargs="+", help="raw results of python -m bench.quality --languages")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    try:
        outcomes = sorted(
            (outcome for path in options.results for outcome in read_outcomes(path)), key=lambda each: each.language
        )
        settings = common_settings(options.results)
        _refuse_twice(outcomes)
    except InfillError as fault:
        print(fault, file=sys.stderr)
        return 2
    report(outcomes, settings, options.out, languages=True)
    print(json.dumps(last_line(outcomes, settings)))
    return 0


def common_settings(results: Sequence[Path]) -> dict[str, Any]:
    """Return the settings of the summaries beside the results. Raises InputError if they differ.

    In simulated time the profiles may differ: kernels round a little differently, and their speed does not matter.
    """
    first: dict[str, Any] = {}
    profiles: set[str] = set()
    for path in results:
        summary = path.with_name(f"{path.name.split('.')[0]}-summary.json")
        try:
            read = json.loads(summary.read_text())
            settings = {name: read[name] for name in SETTINGS}
        except (OSError, ValueError, KeyError) as fault:
            raise InputError(f"{summary} cannot be read ({fault}); let the run of {path} end first") from fault
        first = first or settings
        profiles.add(str(settings["profile"]))
        equal = [name for name in SETTINGS if name != "profile" or not settings["simulated"]]
        differing = [name for name in equal if settings[name] != first[name]]
        if differing:
            raise InputError(f"{path} was measured with another {', '.join(differing)} than {results[0]}")
    return {**first, "profile": " / ".join(sorted(profiles))}


def _refuse_twice(outcomes: Sequence[Outcome]) -> None:
    seen: set[tuple[str, str]] = set()
    for outcome in outcomes:
        if (outcome.system, outcome.id) in seen:
            raise InputError(f"{outcome.language} is in the results twice; give each run once")
        seen.add((outcome.system, outcome.id))


if __name__ == "__main__":
    sys.exit(main())
