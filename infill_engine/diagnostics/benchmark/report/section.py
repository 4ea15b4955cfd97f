"""A part of the report, and the words that its tables share."""

from dataclasses import dataclass

from infill_engine.diagnostics.benchmark.figures import Latency, Quality, Rates
from infill_engine.diagnostics.benchmark.report.charts import Bars, Chart
from infill_engine.diagnostics.benchmark.statistics import Estimate


@dataclass(frozen=True, slots=True)
class Table:
    """A table. The first column is text; with `words`, all columns are."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report."""

    title: str
    text: str
    charts: tuple[Chart | Bars, ...] = ()
    tables: tuple[Table, ...] = ()


def counted(candidates: int) -> str:
    """Return a number of candidates in words."""
    return f"{candidates} candidate{'s' * (candidates > 1)}"


def loop_name(each: Latency) -> str:
    """Return how requests were sent, in words."""
    loops = {"closed": "one at a time", "open": "at typing speed", "preview": "with previews"}
    return f"{loops[each.loop]}, {each.lines:,} lines, {counted(each.wanted)}"


def way_name(each: Rates) -> str:
    """Return a way of decoding in words."""
    return f"{each.model} {each.way}, {counted(each.candidates)}"


def limit_of(each: Quality) -> str:
    """Return the limit of a setting in words."""
    return (
        f"{each.passes} pass{'es' * ((each.passes or 0) > 1)}" if each.budget_ms is None else f"{each.budget_ms:.0f} ms"
    )


def share(estimate: Estimate) -> str:
    """Return a share with its interval."""
    return f"{estimate.value:.0%} ({estimate.low:.0%}–{estimate.high:.0%})"


def points(estimate: Estimate) -> str:
    """Return a difference of shares in percentage points, with its interval."""
    value, low, high = (100 * each for each in (estimate.value, estimate.low, estimate.high))
    return f"{value:+.0f} ({low:+.0f} to {high:+.0f})"


def chance(p: float) -> str:
    """Return a probability in words."""
    return "p < 0.001" if p < 0.0005 else f"p = {p:.3f}"


def who_wins(estimate: Estimate, one: str, other: str) -> str:
    """Return which of two is better, if that is significant."""
    if not estimate.is_significant:
        return f"no difference shown (p = {estimate.p:.2f})"
    return f"{one if estimate.value > 0 else other} ahead ({chance(estimate.p)})"
