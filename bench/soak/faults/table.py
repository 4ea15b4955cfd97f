"""Counts of all faults, as a table."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table


def summarize(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the counts of each fault."""
    return {
        name: _counts([row for row in rows if row["fault"] == name]) for name in dict.fromkeys(r["fault"] for r in rows)
    }


def print_table(summary: Mapping[str, Mapping[str, Any]]) -> None:
    """Print one row per fault."""
    table = Table()
    columns = ("times", "requests", "lost", "late", "stalled", "empty", "good, median s", "good, most s", "wrong")
    table.add_column("fault", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right")
    for name, counts in summary.items():
        cells = [counts[key] for key in ("times", "requests", "lost", "late", "late_while_stalled", "empty")]
        table.add_row(name, *map(str, cells), *map(str, counts["good_s"]), str(len(counts["wrong"])))
    Console(width=130).print(table)


def _counts(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    ran = [row for row in rows if "skipped" not in row]
    good = [each for row in ran for each in row.get("good_after_s", ()) if each is not None]
    any_ = [each for row in ran for each in row.get("any_after_s", ()) if each is not None]
    summed = {
        name: sum(row.get(name, 0) for row in ran)
        for name in ("requests", "lost", "empty", "late", "late_while_stalled")
    }
    return {
        "times": len(ran),
        **summed,
        "latest_ms": max((row.get("latest_ms", 0.0) for row in ran), default=0.0),
        # from the fault's end (its beginning, if something was killed) to candidates in each window
        "good_s": [round(median(good), 2), max(good)] if good else [None, None],
        "any_s": [round(median(any_), 2), max(any_)] if any_ else [None, None],
        "wrong": [wrong for row in ran for wrong in row["wrong"]],
        "skipped": sorted({row["skipped"] for row in rows if "skipped" in row}),
    }
