"""Prints what a run of the benchmark measured: two tables, the recommendation, and what makes it doubtful."""

from rich.console import Console
from rich.table import Table

from infill_engine.diagnostics.benchmark.figures import qualities, typing_ms
from infill_engine.diagnostics.benchmark.results import Results
from infill_engine.diagnostics.benchmark.statistics import Estimate, mean, percentile
from infill_engine.diagnostics.benchmark.verdict import Verdict


def print_report(results: Results, verdict: Verdict | None, console: Console) -> None:
    """Print the tables first and the recommendation last, where it is read."""
    for table in (_typing(results), _quality(results)):
        if table.row_count:
            console.print(table)
    sentences = [f"Not measured: {sentence}" for sentence in not_measured(results)]
    sentences += [f"Doubtful: {line['sentence']}" for line in results.of("doubt")]
    sentences += [f"Results: {results.path}"]
    sentences += ["Too little was measured for a recommendation." if verdict is None else verdict.reason]
    console.print("\n".join(sentences), soft_wrap=True)


def not_measured(results: Results) -> list[str]:
    """Return what was not measured and why, a sentence for each reason."""
    reasons: dict[str, list[str]] = {}
    for line in results.of("missing"):
        reasons.setdefault(line["why"], []).append(line["what"])
    sentences = [f"{', '.join(what)}: {why}" for why, what in reasons.items()]
    if not results.header["network_cut"]:
        sentences.append("Completed programs ran with limits, but this system could not cut them off from the network.")
    return sentences


def _typing(results: Results) -> Table:
    table = Table("latency while typing", "p50 ms", "p90 ms", "p99 ms", "in budget")
    times = typing_ms(results)
    if times:
        (start,) = results.of("start")
        shares = (f"{percentile(times, share):.0f}" for share in (0.5, 0.9, 0.99))
        inside = mean([time <= start["budget_ms"] for time in times])
        table.add_row(f"{len(times)} answers, {start['budget_ms']:.0f} ms each", *shares, f"{inside:.1%}")
    return table


def _quality(results: Results) -> Table:
    """Return the quality of each setting, with 95 % intervals in brackets."""
    table = Table("candidates in budget", "problems", "right first", "right among all", "median ms", "in budget")
    known = sorted(qualities(results), key=lambda each: (each.model, each.setting.budget_ms, each.setting.candidates))
    for each in known:
        table.add_row(
            f"{each.model}, {each.setting}",
            str(each.problems),
            _share(each.first),
            _share(each.any),
            f"{each.ms:.0f}",
            f"{each.inside:.0%}",
        )
    return table


def _share(estimate: Estimate) -> str:
    return f"{estimate.value:.0%} ({estimate.low:.0%}–{estimate.high:.0%})"
