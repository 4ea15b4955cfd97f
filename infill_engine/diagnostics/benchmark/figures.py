"""The figures of the report, each computed from raw lines and from nothing else.

Quality is the share of problems with a right text, first or among all that were shown. No answer counts as wrong, and
so does one that comes more than GRACE_MS after its budget.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from infill_engine.diagnostics.benchmark.plan import FIGHT, QUALITY
from infill_engine.diagnostics.benchmark.results import Record, Results
from infill_engine.diagnostics.benchmark.statistics import (
    Estimate,
    mean,
    mean_of,
    median,
    paired_difference,
    percentile,
)
from infill_engine.diagnostics.benchmark.systems import SERVED

Value = Callable[[Record], float]
GRACE_MS = 20.0  # on the way back to the editor
ANSWERED = ("model", "typed-through")  # ways in which the server serves candidates; the others are refusals


@dataclass(frozen=True, slots=True)
class Quality:
    """The answers of one way of decoding under one setting. `budget_ms` is None if the passes were limited instead."""

    model: str
    way: str
    candidates: int
    budget_ms: float | None
    problems: int
    first: Estimate
    any: Estimate
    ms: float  # median
    p90_ms: float
    inside: float | None  # share within the budget


@dataclass(frozen=True, slots=True)
class Duel:
    """The product against another way of decoding the same problems: differences are the product's minus the other's.

    `ms_ratio` is the other's median time over the product's.
    """

    model: str
    other: str
    candidates: int
    budget_ms: float | None
    problems: int
    first: Estimate
    any: Estimate
    ms: Estimate
    ms_ratio: float


def typing_ms(results: Results) -> list[float]:
    """Return the times from a request to its candidates while someone types, in ms."""
    return [line["ms"] for line in results.of("keystroke", loop="closed") if line["served"] in ANSWERED]


def qualities(results: Results, suite: str = QUALITY) -> list[Quality]:
    """Return one for each model, way and budget; several turns of a problem count as their mean."""
    groups: dict[tuple[str, str, int, float | None], list[Record]] = defaultdict(list)
    for line in results.of("answer", suite=suite, most_passes=None):
        groups[line["model"], line["way"], line["candidates"], line["budget_ms"]].append(line)
    return [
        Quality(
            *key,
            problems=len({line["problem"] for line in lines}),
            first=mean_of(list(by_problem(lines, first_is_right).values())),
            any=mean_of(list(by_problem(lines, any_is_right).values())),
            ms=median([line["ms"] for line in lines]),
            p90_ms=percentile([line["ms"] for line in lines], 0.9),
            inside=None if key[3] is None else inside(lines, key[3]),
        )
        for key, lines in groups.items()
    ]


def duels(results: Results) -> list[Duel]:
    """Return the product against every other way, by setting, paired by problem."""
    groups: dict[tuple[str, int, float | None], dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for line in results.of("answer", suite=FIGHT):
        groups[line["model"], line["candidates"], line["budget_ms"]][line["way"]].append(line)
    found = []
    for (model, candidates, budget_ms), ways in groups.items():
        served = ways.pop(SERVED, [])
        for way, lines in ways.items() if served else ():
            found.append(
                Duel(
                    model,
                    way,
                    candidates,
                    budget_ms,
                    len(set(by_problem(served, _ms)) & set(by_problem(lines, _ms))),
                    paired(lines, served, first_is_right),
                    paired(lines, served, any_is_right),
                    paired(lines, served, _ms),
                    median([line["ms"] for line in lines]) / max(0.01, median([line["ms"] for line in served])),
                )
            )
    return found


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
    """Return the mean of a value for each problem."""
    found: dict[str, list[float]] = defaultdict(list)
    for line in lines:
        found[line["problem"]].append(value(line))
    return {problem: mean(values) for problem, values in found.items()}


def paired(first: Sequence[Record], second: Sequence[Record], value: Value) -> Estimate:
    """Return the difference of a value, the second minus the first, over the problems that both have."""
    one, other = by_problem(first, value), by_problem(second, value)
    both = [problem for problem in one if problem in other]
    return paired_difference([one[problem] for problem in both], [other[problem] for problem in both])


def is_in_time(line: Record) -> bool:
    """Return whether an answer came within its budget, or had none."""
    return line["budget_ms"] is None or line["ms"] <= line["budget_ms"] + GRACE_MS


def _ms(line: Record) -> float:
    return float(line["ms"])
