"""Charts as PNGs, where matplotlib is installed. Equal charts give equal files."""

from importlib.util import find_spec
from pathlib import Path

from infill_engine.diagnostics.benchmark.report.charts import Bars, Chart

COLOURS = ("#0b63ce", "#c2410c", "#15803d", "#7e22ce", "#a16207", "#be185d")
DPI = 120


def can_draw() -> bool:
    """Return whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def save(chart: Chart | Bars, path: Path) -> None:
    """Write a chart. Raises OSError."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 3.8), layout="constrained")
    axes = figure.subplots()
    if isinstance(chart, Bars):
        _bars(chart, axes)
    else:
        _points(chart, axes)
    axes.set_title(chart.title, fontsize=11, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    if len(axes.get_legend_handles_labels()[1]) > 1:
        axes.legend(fontsize=8, frameon=False)
    figure.savefig(path, dpi=DPI, metadata={"Software": None})


def _points(chart: Chart, axes) -> None:  # type: ignore[no-untyped-def]
    for series in chart.series:
        xs, ys = zip(*series.points, strict=True) if series.points else ((), ())
        colour = COLOURS[series.hue % len(COLOURS)]
        style = ("--" if series.dashed else "-") if series.join else "none"
        marker = "o" if series.dots or not series.join else None
        axes.plot(xs, ys, color=colour, ls=style, marker=marker, ms=4, label=series.name)
        if series.low:
            below = [max(0.0, y - low) for y, low in zip(ys, series.low, strict=True)]
            above = [max(0.0, high - y) for y, high in zip(ys, series.high, strict=True)]
            axes.errorbar(xs, ys, yerr=[below, above], fmt="none", ecolor=colour, alpha=0.5)
    for mark in chart.marks:
        axes.axvline(mark.x, color="grey", ls="--", lw=0.9)
        axes.annotate(mark.label, (mark.x, 1.0), xycoords=("data", "axes fraction"), fontsize=8, va="top")
    axes.set(xlabel=chart.x_label, ylabel=chart.y_label)
    axes.grid(axis="y", alpha=0.3)
    if chart.percent:
        axes.yaxis.set_major_formatter(lambda value, _place: f"{100 * value:g} %")
        axes.set_ylim(0, 1)


def _bars(chart: Bars, axes) -> None:  # type: ignore[no-untyped-def]
    height = 0.8 / max(1, len(chart.names))
    for number, name in enumerate(chart.names):
        places = [group + (number - (len(chart.names) - 1) / 2) * height for group in range(len(chart.groups))]
        values = [values[number] or 0.0 for _, values in chart.groups]
        drawn = axes.barh(places, values, height, color=COLOURS[number % len(COLOURS)], label=name)
        axes.bar_label(drawn, fmt="{:,.3g}", fontsize=8, padding=2)
    axes.set_yticks(range(len(chart.groups)), [label for label, _ in chart.groups], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel(chart.unit)
