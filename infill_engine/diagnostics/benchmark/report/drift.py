"""The part of the report about drift: in one process, and in processes that were replaced."""

from infill_engine.diagnostics.benchmark.report.charts import Chart, Series
from infill_engine.diagnostics.benchmark.report.section import Section, chance
from infill_engine.diagnostics.benchmark.results import Results
from infill_engine.diagnostics.benchmark.speed import Drift, drift

LIVES = {False: "one process", True: "recycled processes"}


def drift_section(results: Results) -> Section | None:
    """Return each generation's time beside its trend, and the slopes with their intervals."""
    known = {recycled: found for recycled in LIVES if (found := drift(results, recycled=recycled)) is not None}
    if not known:
        return None
    dots, trends = [], []  # the trends lie above all dots
    for hue, (recycled, found) in enumerate(known.items()):
        name = LIVES[recycled]
        points = tuple((float(number), value) for number, value in enumerate(found.series))
        dots.append(Series(f"{name}, a generation", points, join=False, hue=2 * hue))
        trends.append(_trend(f"{name}, trend", found, 2 * hue + 1))
    by_processor = all(found.by_processor for found in known.values())
    chart = Chart(
        "drift",
        "Processor time of a pass over many generations" if by_processor else "Time of a pass over many generations",
        "generation",
        "times its usual time",
        (*dots, *trends),
        "Each generation's passes against the median of the same problem in the same series."
        + by_processor * " Processor time is taken relative to a fixed calculation that is timed beside it.",
        y_from_zero=False,
    )
    text = " ".join(_sentence(LIVES[recycled], found) for recycled, found in known.items())
    if len(known) < len(LIVES):
        text += " Too little was measured in the other kind of process."
    return Section("Drift", text, (chart,))


def _trend(name: str, found: Drift, hue: int) -> Series:
    trend, last = found.slower.value / 100, float(found.generations - 1)
    return Series(name, tuple((place, 1 + trend * (place - last / 2)) for place in (0.0, last)), hue=hue)


def _sentence(process: str, found: Drift) -> str:
    """Return whether passes become slower and memory grows, with intervals."""
    slower, memory = found.slower, found.memory_mb
    outcome = "passes become slower" if found.is_found else "no drift was found"
    return (
        f"In {process}, {outcome}: {slower.value:+.1%} per 100 generations ({slower.low:+.1%} to {slower.high:+.1%}, "
        f"{chance(slower.p)}), measured over {found.generations}. "
        f"Memory changes by {_signed(memory.value)} MB per 100 ({_signed(memory.low)} to {_signed(memory.high)})."
    )


def _signed(value: float) -> str:
    """Return a number with one decimal and its sign; zero has none."""
    return f"{value:+.1f}" if abs(value) >= 0.05 else "0"
