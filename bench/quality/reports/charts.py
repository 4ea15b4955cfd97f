"""Prints results as a table and draws charts as PNG."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.quality.reports.outcomes import ALL

Summary = Mapping[str, Mapping[str, Mapping[str, Any]]]  # system -> kind -> figure -> value
LABELS = {"copy": "copying alone", "drafts": "retrieved texts", "beams": "left to right", "engine": "infill-ls"}
DOTS = "os^Dv"  # one system each, because lines may coincide


def print_table(summary: Summary, candidates: int) -> None:
    """Print one row per kind and system."""
    table = Table(title="Non-trivial gold texts; intervals are 95 %, by package or problem")
    columns = ("kind", "system", "n", "EM@1", "interval", f"EM@{candidates}", "similarity", f"best of {candidates}")
    further = ("silent", "parse", "p50 ms", "p95 ms", "p99 ms", "late")
    for column in (*columns, *further):
        table.add_column(column, justify="left" if column in ("kind", "system") else "right", no_wrap=True)
    for kind in kinds_of(summary):
        for system, kinds in summary.items():
            if kind in kinds:
                table.add_row(kind, system, *_cells(kinds[kind], candidates))
        table.add_section()
    Console(width=150).print(table)


def kinds_of(summary: Summary) -> list[str]:
    """Return all kinds in a fixed order, `all` first and trivial ones last."""
    kinds = {kind for by_kind in summary.values() for kind in by_kind}
    return sorted(kinds, key=lambda kind: (kind != ALL, "trivial" in kind, kind))


def draw_exact_matches(summary: Summary, candidates: int, path: Path) -> None:
    """Draw a bar chart of exact matches at one and at `candidates`, by system and kind, with intervals."""
    from matplotlib.figure import Figure

    kinds = [kind for kind in kinds_of(summary) if "trivial" not in kind]
    groups = {kind: {system: by_kind.get(kind, {}) for system, by_kind in summary.items()} for kind in kinds}
    figure = Figure(figsize=(3 + 1.6 * len(kinds), 7), layout="constrained")
    for axes, at in zip(figure.subplots(2, 1, sharex=True), (1, candidates), strict=True):
        draw_bars(axes, groups, f"exact_match@{at}")
        axes.set_ylabel(f"exactly right: {'first candidate' if at == 1 else f'one of {at}'}")
    figure.axes[0].legend(fontsize=8, ncols=3)
    save_figure(figure, path)


def draw_bars(axes: Any, groups: Mapping[str, Mapping[str, Mapping[str, Any]]], name: str) -> None:
    """Draw a bar with an interval for each system in each group: the figure `name` of group -> system -> figures."""
    systems = list(dict.fromkeys(system for group in groups.values() for system in group))
    width = 0.8 / max(1, len(systems))
    for number, system in enumerate(systems):
        places = [place + (number - (len(systems) - 1) / 2) * width for place in range(len(groups))]
        found = [group.get(system, {}) for group in groups.values()]
        values = [each.get(name, 0.0) for each in found]
        bounds = [each.get(f"{name}_interval", (value, value)) for each, value in zip(found, values, strict=True)]
        below = [max(0.0, value - low) for value, (low, _) in zip(values, bounds, strict=True)]
        above = [max(0.0, high - value) for value, (_, high) in zip(values, bounds, strict=True)]
        label = LABELS.get(system, system)
        axes.bar(places, values, width, yerr=[below, above], label=label, error_kw={"lw": 0.8})
    axes.set_xticks(range(len(groups)), list(groups))
    axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    axes.grid(axis="y", alpha=0.3)


def draw_by_budget(by_budget: Mapping[float, Mapping[str, Mapping[str, Any]]], path: Path) -> None:
    """Draw the share of right first answers by budget [ms], a line with intervals for each system."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    for system, dot in zip(next(iter(by_budget.values())), DOTS, strict=False):
        found = [systems[system] for systems in by_budget.values()]
        values = [each["exact_match@1"] for each in found]
        lows, highs = zip(*(each["exact_match@1_interval"] for each in found), strict=True)
        line = axes.plot(list(by_budget), values, marker=dot, label=LABELS.get(system, system))
        axes.fill_between(list(by_budget), lows, highs, color=line[0].get_color(), alpha=0.12, lw=0)
    axes.set(xscale="log", xlabel="time for an answer, ms", ylabel="exactly right: first candidate", ylim=(0, None))
    axes.set_xticks(list(by_budget), [f"{budget:g}" for budget in by_budget], minor=False)
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    save_figure(figure, path)


def draw_reliability(bins: Sequence[Mapping[str, float]], error: float, path: Path) -> None:
    """Draw the share of correct candidates against their confidence. A dot's area is its bin's count."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 5), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color="grey", lw=0.8, ls="--")
    most = max((entry["n"] for entry in bins), default=1)
    areas = [20 + 300 * entry["n"] / most for entry in bins]
    axes.scatter([entry["confidence"] for entry in bins], [entry["right"] for entry in bins], s=areas, alpha=0.6)
    for entry in bins:
        axes.annotate(str(int(entry["n"])), (entry["confidence"], entry["right"]), fontsize=7, ha="center", va="center")
    axes.set(xlabel="confidence", ylabel="share that was exactly right", xlim=(0, 1), ylim=(0, 1))
    axes.set_title(f"Shown candidates, expected calibration error {error:.3f}", fontsize=10)
    save_figure(figure, path)


def _cells(figures: Mapping[str, Any], candidates: int) -> list[str]:
    low, high = figures["exact_match@1_interval"]
    shares = [f"{100 * figures['exact_match@1']:.1f} %", f"{100 * low:.1f}–{100 * high:.1f}"]
    return [
        str(figures["n"]),
        *shares,
        f"{100 * figures[f'exact_match@{candidates}']:.1f} %",
        f"{figures['edit_similarity']:.3f}",
        f"{figures[f'edit_similarity@{candidates}']:.3f}",
        f"{100 * figures['abstained']:.1f} %",
        f"{100 * figures['parse_rate']:.1f} %" if figures["candidates_shown"] else "–",
        *(f"{figures[name]:.0f}" for name in ("p50_ms", "p95_ms", "p99_ms")),
        f"{100 * figures['late']:.1f} %",
    ]


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure as PNG. Equal figures give equal files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120, metadata={"Software": None})
