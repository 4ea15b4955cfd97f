"""The figures of the report, each computed from raw lines and from nothing else.

Quality is the share of problems with a right text, first or among all that were shown. No answer counts as wrong, and
so does one that comes more than GRACE_MS after its budget.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from infill_engine.diagnostics.benchmark.results import BenchmarkSetting, Record, Results
from infill_engine.diagnostics.benchmark.statistics import Estimate, mean, mean_of, median, paired_difference

Value = Callable[[Record], float]
GRACE_MS = 20.0  # on the way back to the editor


@dataclass(frozen=True, slots=True)
class Quality:
    """The answers of one way of decoding under one setting."""

    model: str
    way: str
    setting: BenchmarkSetting
    problems: int
    first: Estimate
    any: Estimate
    ms: float  # median
    inside: float  # share within the budget


def typing_ms(results: Results) -> list[float]:
    """Return the times from a request to its candidates while someone types, in ms."""
    return [line["ms"] for line in results.of("keystroke")]


def answers(results: Results) -> dict[tuple[str, str, BenchmarkSetting], list[Record]]:
    """Return the answers by model, way of decoding and setting."""
    found: dict[tuple[str, str, BenchmarkSetting], list[Record]] = {}
    for line in results.of("answer"):
        key = line["model"], line["way"], BenchmarkSetting(line["candidates"], line["budget_ms"])
        found.setdefault(key, []).append(line)
    return found


def qualities(results: Results) -> list[Quality]:
    """Return one for each model, way and setting."""
    return [quality(*key, lines) for key, lines in answers(results).items()]


def quality(model: str, way: str, setting: BenchmarkSetting, lines: Sequence[Record]) -> Quality:
    """Return the quality of some answers."""
    first, any_of_them = (mean_of([value(line) for line in lines]) for value in (first_is_right, any_is_right))
    ms = median([line["ms"] for line in lines])
    return Quality(model, way, setting, len(lines), first, any_of_them, ms, inside(lines, setting.budget_ms))


def first_is_right(line: Record) -> float:
    """Return 1 if the first text is right and came in time."""
    return float(is_in_time(line) and bool(line["right"]) and line["right"][0])


def any_is_right(line: Record) -> float:
    """Return 1 if any text is right and came in time."""
    return float(is_in_time(line) and any(line["right"]))


def inside(lines: Sequence[Record], budget_ms: float) -> float:
    """Return the share of answers within a budget."""
    return mean([line["ms"] <= budget_ms for line in lines])


def by_problem(lines: Iterable[Record], value: Value) -> dict[str, float]:
    """Return a value for each problem."""
    return {line["problem"]: value(line) for line in lines}


def paired(first: Sequence[Record], second: Sequence[Record], value: Value) -> Estimate:
    """Return the difference of a value, the second minus the first, over the problems that both have."""
    one, other = by_problem(first, value), by_problem(second, value)
    both = [problem for problem in one if problem in other]
    return paired_difference([one[problem] for problem in both], [other[problem] for problem in both])


def is_in_time(line: Record) -> bool:
    """Return whether an answer came within its budget."""
    return bool(line["ms"] <= line["budget_ms"] + GRACE_MS)
