"""Plots the distribution of answer times as a PNG."""

from collections.abc import Sequence
from pathlib import Path

from bench.replay.typing_runs import Sample


def draw(samples: Sequence[Sample], budget_ms: float, path: Path) -> None:
    """Draw one panel per loop and one outline per document size. The vertical line marks the budget."""
    from matplotlib.figure import Figure

    loops = list(dict.fromkeys(sample.loop for sample in samples))
    figure = Figure(figsize=(8, 2.6 * max(1, len(loops))), layout="constrained")
    panels = figure.subplots(max(1, len(loops)), 1, squeeze=False)
    most = max([budget_ms + 30, *(sample.ms for sample in samples)], default=budget_ms)
    edges = [most * number / 80 for number in range(81)]
    for axes, loop in zip(panels[:, 0], loops, strict=False):
        for lines in dict.fromkeys(sample.lines for sample in samples):
            times = [s.ms for s in samples if s.loop == loop and s.lines == lines and s.served != "cancelled"]
            axes.hist(times, edges, histtype="step", label=f"{lines:,} lines ({len(times)} answers)")
        axes.axvline(budget_ms, color="grey", ls="--", lw=0.8)
        axes.set(xlabel=f"ms from request to answer, {loop} loop", ylabel="answers", yscale="log")
        axes.legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120, metadata={"Software": None})
