"""The summary of a day, and its picture."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

GRACE_MS = 20.0  # after the deadline
GROWN = 1.05  # the largest share of the memory after warming up that there may be at the end, all documents closed
DEADLINE_KINDS = ("inline", "candidates")  # next edits have no deadline
BINS = 120

Row = Mapping[str, Any]


def summarize(rows: Sequence[Row], memory: Sequence[Row], budget_ms: float) -> dict[str, Any]:
    """Return the figures of all requests (`rows`, by the time they were sent) and of the memory."""
    due = [row for row in rows if row["kind"] in DEADLINE_KINDS and row["ms"] is not None]
    late = [row for row in due if row["ms"] > budget_ms + GRACE_MS]
    stalled = [row for row in late if row["ms"] - budget_ms - GRACE_MS <= row["stalled_ms"]]
    waited = [row["ms"] for row in due if row["waited"]]
    tenth = max(1, len(waited) // 10)
    return {
        "requests": len(rows),
        "answered": sum(row["ms"] is not None for row in rows),
        "kinds": dict(Counter(row["kind"] for row in rows)),
        "with_candidates": sum(bool(row["items"]) for row in rows),
        "faults": dict(Counter(row["fault"] for row in rows if "fault" in row)),
        "late": len(late),
        "late_while_stalled": len(stalled),
        "latest_ms": max((row["ms"] for row in due), default=0.0),
        "ms": _percentiles(waited),
        "first_tenth_ms": _percentiles(waited[:tenth]),
        "last_tenth_ms": _percentiles(waited[-tenth:]),
        "next_edit_ms": _percentiles([row["ms"] for row in rows if row["kind"] == "next edit" and row["ms"]]),
        "memory_mb": _memory(memory),
    }


def is_sound(summary: Mapping[str, Any]) -> bool:
    """Return whether nothing was lost, wrong, late by the server's own doing, or grew."""
    return (
        summary["requests"] == summary["answered"]
        and not summary["faults"]
        and not summary["wrong"]
        and summary["late"] == summary["late_while_stalled"]
        and all(each["grown"] <= GROWN for each in summary["memory_mb"].values())
    )


def draw(rows: Sequence[Row], memory: Sequence[Row], budget_ms: float, path: Path) -> None:
    """Draw memory and the times of answers over the day."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 7), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    minutes = [row["at"] / 60 for row in memory]
    for name in _names(memory):
        above.plot(minutes, [row[name] for row in memory], label=name, lw=1.2)
    above.set(ylabel="MB (proportional)", ylim=(0, None))
    above.legend(fontsize=8)
    timed = [row for row in rows if row["kind"] in DEADLINE_KINDS and row["ms"] is not None and row["waited"]]
    size = max(1, len(timed) // BINS)
    bins = [timed[at : at + size] for at in range(0, len(timed), size)]
    middle = [bin_[len(bin_) // 2]["at"] / 60 for bin_ in bins]
    for share, name in ((0.5, "median"), (0.99, "99th percentile")):
        below.plot(middle, [_percentile(sorted(row["ms"] for row in bin_), share) for bin_ in bins], label=name, lw=1.2)
    late = [row for row in rows if row["kind"] in DEADLINE_KINDS and (row["ms"] or 0) > budget_ms + GRACE_MS]
    below.plot([row["at"] / 60 for row in late], [row["ms"] for row in late], "x", ms=4, label=f"late ({len(late)})")
    below.axhline(budget_ms, color="grey", ls="--", lw=0.8)
    below.set(xlabel="minutes", ylabel="ms from request to answer", ylim=(0, None))
    below.legend(fontsize=8)
    for axes in (above, below):
        axes.grid(alpha=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120, metadata={"Software": None})


def _memory(memory: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Return megabytes before and after the day, all documents closed, and the medians of its first and last tenth."""
    tenth = max(1, len(memory) // 10)
    figures = {}
    for name in _names(memory):
        values = [row[name] for row in memory]
        before, after = values[0], values[-1]
        figures[name] = {
            "before": before,
            "after": after,
            "grown": round(after / before, 3) if before else 0.0,
            "first_tenth": median(values[:tenth]),
            "last_tenth": median(values[-tenth:]),
            "most": max(values),
        }
    return figures


def _names(memory: Sequence[Row]) -> list[str]:
    return [name for name in (memory[0] if memory else ()) if name not in ("kind", "at", "engines")]


def _percentiles(values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {f"p{100 * share:.0f}": _percentile(ordered, share) for share in (0.5, 0.9, 0.99)}


def _percentile(ordered: Sequence[float], share: float) -> float:
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 2) if ordered else 0.0
