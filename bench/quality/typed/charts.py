"""Prints and draws what typing costs."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.quality.reports.outcomes import ALL

KINDS = ("statement", "middle")


def print_table(summary: dict[str, dict[str, dict[str, Any]]]) -> None:
    """Print one row per kind and system."""
    table = Table(title="Gold texts typed again; intervals are 95 %, by package")
    columns = ("kind", "system", "characters", "saved", "interval", "shown", "right", "wrong/100 keys")
    for column in (*columns, "fresh", "p50 ms"):
        table.add_column(column, justify="left" if column in ("kind", "system") else "right", no_wrap=True)
    for kind in (ALL, *KINDS):
        for system, kinds in summary.items():
            if figures := kinds.get(kind):
                low, high = figures["saved_interval"]
                table.add_row(
                    kind,
                    system,
                    f"{figures['characters']:,}",
                    f"{100 * figures['saved']:.1f} %",
                    f"{100 * low:.1f}–{100 * high:.1f}",
                    str(figures["shown"]),
                    f"{100 * figures['right_of_shown']:.0f} %",
                    f"{figures['wrong_per_100_keystrokes']:.1f}",
                    f"{100 * figures['fresh']:.0f} %",
                    f"{figures['p50_ms']:.0f}",
                )
        table.add_section()
    Console(width=150).print(table)


def draw(curves: dict[str, list[dict[str, float]]], show_from: float, path: Path) -> None:
    """Plot characters saved against wrong suggestions, one line per kind over the thresholds, with copies as dots."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.subplots()
    for name, points in curves.items():
        color = f"C{KINDS.index(name.split(', ')[1])}"
        wrong = [point["wrong_per_100_keystrokes"] for point in points]
        saved = [100 * point["saved"] for point in points]
        if len(points) == 1:
            axes.plot(wrong, saved, "x", color=color, label=name)
            continue
        axes.plot(wrong, saved, color=color, label=name)
        own = min(range(len(points)), key=lambda at: abs(points[at]["show_from"] - show_from))
        axes.plot(wrong[own], saved[own], "o", color=color)
    axes.set(xlabel="wrong suggestions for 100 keystrokes", ylabel="characters saved, %")
    axes.set(xlim=(0, None), ylim=(0, None))
    axes.set_title(f"Typing again what was taken out; dots: shown from {show_from:.2f} on", fontsize=10)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120, metadata={"Software": None})
