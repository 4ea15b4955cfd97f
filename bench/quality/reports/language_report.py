"""Results by language: one table on the terminal and one chart."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.quality.reports.charts import Summary, draw_bars, save_figure
from bench.quality.reports.outcomes import ALL
from infill_engine.text.languages import language

KINDS = ("line", "middle", "statement", "block")


def print_languages(languages: Mapping[str, Summary], candidates: int) -> None:
    """Print one row per language and system: exact matches by kind, and syntactic validity of the candidates."""
    table = Table(title=f"Exact matches at 1 and at {candidates} candidates, in per cent of the non-trivial holes")
    for column in ("language", "system", "n", ALL, *KINDS, "parse", "indent", "suffix", "p95 ms", "late"):
        table.add_column(column, justify="left" if column in ("language", "system") else "right", no_wrap=True)
    for name, summary in languages.items():
        for system, kinds in summary.items():
            if ALL in kinds:
                table.add_row(name, system, *_cells(kinds, candidates))
        table.add_section()
    Console(width=150).print(table)


def draw_languages(languages: Mapping[str, Summary], candidates: int, path: Path) -> None:
    """Draw exact matches of line ends and of all holes at `candidates`, one group of bars per language."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3 + 0.7 * len(languages), 7), layout="constrained")
    for axes, kind in zip(figure.subplots(2, 1, sharex=True), ("line", ALL), strict=True):
        groups = {
            language(name).name: {system: kinds.get(kind, {}) for system, kinds in summary.items()}
            for name, summary in languages.items()
        }
        draw_bars(axes, groups, f"exact_match@{candidates}")
        axes.set_ylabel(f"{'rest of a line' if kind == 'line' else 'all holes'}: one of {candidates} exactly right")
        axes.set_xticks(range(len(groups)), list(groups), rotation=45, ha="right", rotation_mode="anchor")
    figure.axes[0].legend(fontsize=8, ncols=3)
    save_figure(figure, path)


def _cells(kinds: Mapping[str, Mapping[str, Any]], candidates: int) -> list[str]:
    every = kinds[ALL]

    def matches(kind: str) -> str:
        found = kinds.get(kind)
        if found is None:
            return "–"
        return f"{100 * found['exact_match@1']:.0f} / {100 * found[f'exact_match@{candidates}']:.0f}"

    shares = [f"{100 * every[name]:.1f}" for name in ("parse_rate", "indentation_wrong", "suffix_repeated")]
    return [
        str(every["n"]),
        *map(matches, (ALL, *KINDS)),
        *(shares if every["candidates_shown"] else ["–"] * 3),
        f"{every['p95_ms']:.0f}",
        f"{100 * every['late']:.1f}",
    ]
