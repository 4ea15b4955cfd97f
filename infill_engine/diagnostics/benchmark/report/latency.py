"""The part of the report about answers while someone types."""

from collections.abc import Sequence

from infill_engine.diagnostics.benchmark.figures import latencies
from infill_engine.diagnostics.benchmark.report.charts import Chart, Mark, Series
from infill_engine.diagnostics.benchmark.report.published import published_table
from infill_engine.diagnostics.benchmark.report.section import Section, Table, loop_name
from infill_engine.diagnostics.benchmark.results import Results
from infill_engine.diagnostics.benchmark.statistics import median

MOST_POINTS = 160  # of a line


def typing_section(results: Results) -> Section | None:
    """Return how soon answers arrive, by loop, document size and place; cold start; the first canvas."""
    known = latencies(results)
    if not known:
        return None
    budget = known[0].budget_ms
    longest = max(1.15 * budget, max(each.at(0.995) for each in known))
    series = tuple(
        Series(loop_name(each), _cumulative(each.times, longest), hue=number) for number, each in enumerate(known)
    )
    chart = Chart(
        "latency",
        "How soon an answer with candidates arrives",
        "ms from request to answer",
        "share of answers",
        series,
        f"{known[0].model} over the server's own pipes. "
        "One at a time: each request is sent with its keystroke, and the next key is pressed when the answer is there. "
        "At typing speed: 8 to 12 keys a second, the request 35 to 70 ms after its key.",
        (Mark(budget, f"budget {budget:.0f} ms"),),
        percent=True,
    )
    rows = [
        (
            loop_name(each),
            str(len(each.times)),
            *(f"{each.at(share):.0f}" for share in (0.5, 0.9, 0.99)),
            f"{each.since_key_p50:.0f}",
            f"{each.inside:.1%}",
            f"{each.candidates:.1f}",
        )
        for each in known
    ]
    headings = ("ms", "answers", "p50", "p90", "p99", "p50 from key", "in budget", "candidates")
    tables = [Table(headings, tuple(rows)), *_by_stroke(results), published_table()]
    firsts = [line["first_ms"] for line in results.of("keystroke", loop="preview") if line["first_ms"]]
    text = ""
    if firsts:
        text = f"The first canvas is shown after {median(firsts):.0f} ms in the median, before candidates are final. "
    if starts := results.of("start"):
        initialize, ready = (median([line[name] for line in starts]) for name in ("initialize_ms", "ready_ms"))
        text += f"The server answers `initialize` after {initialize:.0f} ms and is ready after {ready / 1000:.1f} s."
    return Section("Latency while typing", text, (chart,), tuple(tables))


def _by_stroke(results: Results) -> list[Table]:
    lines = [line for line in results.of("keystroke", loop="closed") if line["served"] == "model"]
    strokes = dict.fromkeys(line["stroke"] for line in lines)
    names = {"end": "at the end of a line", "middle": "inside a line", "enter": "on a new line", "deletion": "deletion"}
    rows = []
    for stroke in strokes:
        times = [line["ms"] for line in lines if line["stroke"] == stroke]
        rows.append((names[stroke], str(len(times)), f"{median(times):.0f}", f"{max(times):.0f}"))
    return [Table(("computed answers by place", "answers", "p50", "longest"), tuple(rows))] if rows else []


def _cumulative(times: Sequence[float], most: float) -> tuple[tuple[float, float], ...]:
    ordered = sorted(times)
    every = max(1, len(ordered) // MOST_POINTS)
    steps = [(time, (number + 1) / len(ordered)) for number, time in enumerate(ordered) if number % every == 0]
    inside = [(time, share) for time, share in [*steps, (ordered[-1], 1.0)] if time <= most]
    return ((0.0, 0.0), *inside)
