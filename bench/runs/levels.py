"""How fast passes are, and whether they become slower, from raw lines.

The processor time of a pass is taken relative to that of the fixed calculation beside it (`reference`). Where a run has
none, or where the system counts processor time too coarsely, the time by the clock has to do.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from bench.runs.students import slope
from infill_engine.diagnostics.benchmark.results import Record, Results
from infill_engine.diagnostics.benchmark.statistics import Estimate, mean, median, percentile

PER = 100  # generations, for slopes
FEWEST = 20  # generations
UNDISTURBED = 0.1  # share of the passes


@dataclass(frozen=True, slots=True)
class Drift:
    """The change of the cost of a pass per 100 generations, as a share of it."""

    generations: int
    slower: Estimate


def drift(results: Results, *, recycled: bool = False) -> Drift | None:
    """The trend over the generations of one process, or over processes that were replaced; None if there are too few.

    Each process has a level of its own. So a series of several is divided into processes, and one alone into batches,
    without the first answer to each problem: it fills caches.
    """
    lines = [line for line in results.of("generation") if bool(line.get("recycled")) == recycled]
    lines = lines if recycled else _repeated(lines)
    groups = [line["process"] for line in lines] if recycled else []
    if len(lines) < FEWEST or (recycled and len(set(groups)) < 3):
        return None
    by_processor = all(line.get("probe_cpu_ms") and line.get("reference_ms") for line in lines)
    costs = [_of_a_pass(line, by_processor=by_processor) for line in lines]
    by_problem: dict[str, list[float]] = defaultdict(list)
    for line, cost in zip(lines, costs, strict=True):
        by_problem[line["problem"]].append(cost)
    usual = {problem: max(median(each), 1e-6) for problem, each in by_problem.items()}
    series = [max(cost, 1e-6) / usual[line["problem"]] for line, cost in zip(lines, costs, strict=True)]
    slower = slope([log(value) for value in series], groups)
    return Drift(len(series), Estimate(PER * slower.value, PER * slower.low, PER * slower.high, slower.p))


def _repeated(lines: Sequence[Record]) -> list[Record]:
    first = {line["problem"]: line["number"] for line in reversed(lines)}
    return [line for line in lines if line["number"] > first[line["problem"]]]


def has_processor_time(lines: Sequence[Record]) -> bool:
    """Return whether there are lines, and all have a processor time and that of the fixed calculation beside it."""
    return bool(lines) and all(line.get("cpu_ms") and line.get("reference_ms") for line in lines)


def pass_levels(results: Results, *, by_processor: bool) -> list[float]:
    """Return the logarithm of the cost of a pass in each process, as the mean over sizes.

    Of times by the clock, it is the median. Load can only add processor time, so of this the lowest UNDISTURBED of the
    passes count, against the same share of the fixed calculations.
    """
    levels: dict[int, dict[int, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for line in results.of("pass"):
        levels[line["process"]][line["rows"]].append(line)
    level = _undisturbed if by_processor else _usual
    return [mean([level(lines) for lines in sizes.values()]) for sizes in levels.values()]


def _undisturbed(lines: Sequence[Record]) -> float:
    passes, fixed = ([line[name] for line in lines] for name in ("cpu_ms", "reference_ms"))
    return log(percentile(passes, UNDISTURBED) / percentile(fixed, UNDISTURBED))


def _usual(lines: Sequence[Record]) -> float:
    return log(max(median([line["ms"] for line in lines]), 1e-3))


def _of_a_pass(line: Record, *, by_processor: bool) -> float:
    """Return what a pass cost: the small one after a generation, or by the clock, one of the generation's own."""
    if by_processor:
        return float(line["probe_cpu_ms"] / line["reference_ms"])
    return float(line["pass_ms"] / max(1, line["passes"]))
