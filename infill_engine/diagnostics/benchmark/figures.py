"""The figures of the report, each computed from raw lines and from nothing else.

Quality is the share of problems with a right text, first or among all that were shown. No answer counts as wrong, and
so does one that comes more than GRACE_MS after its budget.

Rates are in tokens a second, always three together:

    in-step   rows of the passes / time of the passes: what the processor computes
    gross     rows of the passes / time of the answers: with reading, search and cleaning
    useful    tokens of the first text / time of the answers: what a user sees first
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from infill_engine.diagnostics.benchmark.results import Record, Results
from infill_engine.diagnostics.benchmark.statistics import (
    Estimate,
    mean,
    mean_of,
    median,
    paired_difference,
    percentile,
)
from infill_engine.diagnostics.benchmark.suites.fight import FIGHT
from infill_engine.diagnostics.benchmark.suites.quality import QUALITY
from infill_engine.diagnostics.benchmark.systems.served import SERVED

Value = Callable[[Record], float]
GRACE_MS = 20.0  # on the way back to the editor
ANSWERED = ("model", "typed-through")  # ways in which the server serves candidates; the others are refusals


@dataclass(frozen=True, slots=True)
class Latency:
    """Times of one kind of answers, in ms from the request. `inside` is the share within the budget."""

    model: str
    loop: str
    lines: int
    wanted: int
    budget_ms: float
    times: tuple[float, ...]
    inside: float
    since_key_p50: float
    candidates: float  # mean number of candidates

    def at(self, share: float) -> float:
        """Return a percentile of the times."""
        return percentile(self.times, share)


@dataclass(frozen=True, slots=True)
class Quality:
    """The answers of one way of decoding under one setting. `budget_ms` or `passes` is its limit."""

    model: str
    way: str
    candidates: int
    budget_ms: float | None
    passes: int | None
    problems: int
    first: Estimate
    any: Estimate
    late: float  # share right first, however late
    ms: float  # median
    p90_ms: float
    inside: float | None  # share within the budget

    @property
    def score(self) -> float:
        """Half for being right first, half for being right among all that is shown."""
        return (self.first.value + self.any.value) / 2


@dataclass(frozen=True, slots=True)
class Rates:
    """Tokens a second, and what the passes were used for."""

    model: str
    way: str
    candidates: int
    in_step: float
    gross: float
    useful: float
    passes: float  # of an answer
    accepted_a_pass: float  # tokens of the first text, if it is right
    trimmed: float  # share of the rows that are in none of the texts


def latencies(results: Results) -> list[Latency]:
    """One for each loop, document size and number of candidates. Refused and withdrawn requests are left out."""
    groups: dict[tuple[str, str, int, int, float], list[Record]] = defaultdict(list)
    for line in results.of("keystroke"):
        if line["served"] in ANSWERED:
            groups[line["model"], line["loop"], line["lines"], line["wanted"], line["budget_ms"]].append(line)
    return [
        Latency(
            *key,
            times=tuple(line["ms"] for line in lines),
            inside=mean([line["ms"] <= key[-1] for line in lines]),
            since_key_p50=median([line["since_key_ms"] for line in lines]),
            candidates=mean([line["candidates"] for line in lines]),
        )
        for key, lines in groups.items()
    ]


def qualities(results: Results, suite: str = QUALITY) -> list[Quality]:
    """One for each model, way and setting; several turns of a problem count as their mean."""
    groups: dict[tuple[str, str, int, float | None, int | None], list[Record]] = defaultdict(list)
    for line in results.of("answer", suite=suite):
        key = (line["model"], line["way"], line["candidates"], line["budget_ms"], line["most_passes"])
        groups[key].append(line)
    return [
        Quality(
            *key,
            problems=len({line["problem"] for line in lines}),
            first=mean_of(list(by_problem(lines, first_is_right).values())),
            any=mean_of(list(by_problem(lines, any_is_right).values())),
            late=mean(list(by_problem(lines, right_however_late).values())),
            ms=median([line["ms"] for line in lines]),
            p90_ms=percentile([line["ms"] for line in lines], 0.9),
            inside=None if key[3] is None else mean([line["ms"] <= key[3] for line in lines]),
        )
        for key, lines in groups.items()
    ]


def rates(results: Results, suite: str = FIGHT) -> list[Rates]:
    """Return the three rates of every way whose passes are known, over all its answers with a limit of time."""
    groups: dict[tuple[str, str, int], list[Record]] = defaultdict(list)
    for line in results.of("answer", suite=suite):
        if line["rows"] and line["budget_ms"] is not None:
            groups[line["model"], line["way"], line["candidates"]].append(line)
    found = []
    for key, lines in groups.items():
        rows = sum(sum(line["rows"]) for line in lines)
        passes = sum(len(line["rows"]) for line in lines)
        pass_ms, ms = (sum(sum(line["pass_ms"]) for line in lines), sum(line["ms"] for line in lines))
        shown = sum(sum(line["tokens"]) for line in lines)
        first = sum(line["tokens"][0] for line in lines if line["tokens"])
        accepted = sum(line["tokens"][0] for line in lines if first_is_right(line) and line["tokens"])
        found.append(
            Rates(
                *key,
                in_step=1000 * rows / pass_ms if pass_ms else 0.0,
                gross=1000 * rows / ms,
                useful=1000 * first / ms,
                passes=passes / len(lines),
                accepted_a_pass=accepted / passes if passes else 0.0,
                trimmed=max(0.0, 1 - shown / rows),
            )
        )
    return found


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


def cpu_ms_a_character(results: Results) -> dict[tuple[str, str], float]:
    """Processor time for a character of a right first text, by model and way, in answers with a limit of time."""
    spent: dict[tuple[str, str], float] = defaultdict(float)
    got: dict[tuple[str, str], int] = defaultdict(int)
    for line in results.of("answer"):
        if line["cpu_ms"] is not None and line["budget_ms"] is not None:
            spent[line["model"], line["way"]] += line["cpu_ms"]
            got[line["model"], line["way"]] += len(line["texts"][0]) if first_is_right(line) else 0
    return {key: spent[key] / got[key] for key in spent if got[key]}


def first_is_right(line: Record) -> float:
    """1 if the first text is right and came in time."""
    return float(in_time(line) and right_however_late(line))


def any_is_right(line: Record) -> float:
    """1 if any text is right and came in time."""
    return float(in_time(line) and any(line["right"]))


def first_is_similar(line: Record) -> float:
    """Return how similar the first text is to the original one, from 0 to 1; 0 if it came too late."""
    return in_time(line) * float(line["similarity"])


def right_however_late(line: Record) -> bool:
    """Return whether the first text is right."""
    return bool(line["right"] and line["right"][0])


def in_time(line: Record) -> bool:
    """Return whether an answer came within its budget, or had none."""
    return line["budget_ms"] is None or line["ms"] <= line["budget_ms"] + GRACE_MS


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


def _ms(line: Record) -> float:
    return float(line["ms"])
