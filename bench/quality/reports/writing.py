"""Writes the results of a run: raw outcomes, charts, a summary, and a table on the terminal."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.quality.reports.charts import draw_exact_matches, draw_reliability, print_table
from bench.quality.reports.language_report import draw_languages, print_languages
from bench.quality.reports.outcomes import ALL, Outcome, by_language, calibration_of, summarise, write_outcomes
from bench.quality.systems.product import PRODUCT


def report(outcomes: Sequence[Outcome], settings: Mapping[str, Any], out: Path, *, languages: bool) -> None:
    """Write the raw results to `out` with charts and summary beside it, and print the table; by language if wanted."""
    candidates = settings["candidates"]
    written = write_outcomes(outcomes, out)
    stem = out.name.split(".")[0]
    if languages:
        found = by_language(outcomes, candidates)
        print_languages(found, candidates)
        draw_languages(found, candidates, out.with_name(f"{stem}.png"))
    else:
        summary = summarise(outcomes, candidates)
        print_table(summary, candidates)
        draw_exact_matches(summary, candidates, out.with_name(f"{stem}.png"))
    shown = calibration_of(_product(outcomes))["shown"]
    if shown["bins"]:
        draw_reliability(shown["bins"], shown["ece"], out.with_name(f"{stem}-reliability.png"))
    line = last_line(outcomes, settings) | ({"languages": by_language(outcomes, candidates)} if languages else {})
    out.with_name(f"{stem}-summary.json").write_text(json.dumps(line, indent=1) + "\n")
    print(f"raw results in {written}")


def last_line(outcomes: Sequence[Outcome], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the product's results over non-trivial holes, the settings, its calibration, and all systems' results."""
    summary = summarise(outcomes, settings["candidates"])
    leading = PRODUCT if PRODUCT in summary else next(iter(summary), "")
    return {
        **summary.get(leading, {}).get(ALL, {}),
        "system": leading,
        **settings,
        "calibration": calibration_of(_product(outcomes)),
        "systems": summary,
    }


def _product(outcomes: Sequence[Outcome]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.system == PRODUCT]
