"""What differs between two runs: the second minus the first, with intervals.

Quality is paired by problem and typing by keystroke. Passes are compared by processes, which are spread over each run.
A loss of quality is significant if one of its three measures shows it with a third of the usual probability
(Bonferroni). Similarity to the original text finds the smallest losses, because wrong texts change it, too.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import exp, log

from bench.runs.levels import drift, has_processor_time, pass_levels
from bench.runs.students import difference
from bench.similarity import edit_similarity
from infill_engine.diagnostics.benchmark.figures import answers, any_is_right, first_is_right, is_in_time, paired
from infill_engine.diagnostics.benchmark.problems.problem_files import load_problems
from infill_engine.diagnostics.benchmark.results import Record, Results
from infill_engine.diagnostics.benchmark.statistics import SIGNIFICANT, Estimate, paired_difference

PROCESSOR_TIME, CLOCK_TIME = "processor time of a pass", "time of a pass"


def first_is_similar(line: Record) -> float:
    """Return how similar the first text is to the original one, from 0 to 1; 0 if it came too late."""
    first = line["texts"][0] if line["texts"] else ""
    return is_in_time(line) * edit_similarity(first, _originals().get(line["problem"], ""))


@cache
def _originals() -> dict[str, str]:
    return {problem.id: problem.truth for problem in load_problems()}


MEASURES = {
    "right first": first_is_right,
    "right among all": any_is_right,
    "similarity of the first text": first_is_similar,
}


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that was measured in both runs. `unit` is `points`, `times` (a ratio) or `per 100`.

    `pairs` counts problems or keystrokes, or the processes of the smaller run. `is_loss` marks a significant loss of
    quality.
    """

    what: str
    unit: str
    estimate: Estimate
    pairs: int
    is_loss: bool = False


def compare(before: Results, after: Results) -> list[Difference]:
    """Everything that both runs measured."""
    return [*_quality(before, after), *_passes(before, after), *_typing(before, after), *_drift(before, after)]


def doubts(before: Results, after: Results) -> list[str]:
    """Return why a comparison may be misleading."""
    one, other = before.header, after.header
    found = []
    if one["machine"]["processor"] != other["machine"]["processor"]:
        found.append("The runs were made on different processors: times cannot be compared.")
    if one.get("packages", {}).get("torch") != other.get("packages", {}).get("torch"):
        found.append(
            "The runs used different versions of torch, which also computes what processor times are relative to."
        )
    if one["problems"] != other["problems"]:
        found.append("The runs have different problems: only those with the same name are compared.")
    for name, results in (("The first", before), ("The second", after)):
        found += [f"{name} run: {line['sentence']}" for line in results.of("doubt")]
    return found


def _quality(before: Results, after: Results) -> Iterator[Difference]:
    of_after = answers(after)
    for key, one in answers(before).items():
        model, way, setting = key
        other = of_after.get(key, [])
        pairs = len({line["problem"] for line in one} & {line["problem"] for line in other})
        if not pairs:
            continue
        for name, value in MEASURES.items():
            found = paired(one, other, value)
            lost = found.value < 0 and found.p < SIGNIFICANT / len(MEASURES)
            yield Difference(f"{model}, {way}, {setting}: {name}", "points", found, pairs, is_loss=lost)


def _passes(before: Results, after: Results) -> Iterator[Difference]:
    by_processor = all(has_processor_time(run.of("pass")) for run in (before, after))
    for what, own in ((PROCESSOR_TIME, True), (CLOCK_TIME, False)) if by_processor else ((CLOCK_TIME, False),):
        one, other = (pass_levels(run, by_processor=own) for run in (before, after))
        if min(len(one), len(other)) > 1:
            yield Difference(what, "times", _ratio(difference(one, other)), min(len(one), len(other)))


def _typing(before: Results, after: Results) -> Iterator[Difference]:
    one, other = (_keystrokes(run) for run in (before, after))
    for group in dict.fromkeys(key[:-1] for key in one):
        keys = [key for key in one if key[:-1] == group and key in other]
        if keys:
            found = paired_difference([log(one[key]) for key in keys], [log(other[key]) for key in keys])
            model, candidates = group
            what = f"{model}, typing, {candidates} candidates: time of an answer"
            yield Difference(what, "times", _ratio(found), len(keys))


def _keystrokes(results: Results) -> dict[tuple[str, int, int], float]:
    """Return times of computed answers by model, candidates wanted and number of the keystroke."""
    found: dict[tuple[str, int, int], float] = {}
    counts: dict[tuple[str, int], int] = {}
    for line in results.of("keystroke"):
        group = line["model"], line["candidates"]
        counts[group] = counts.get(group, 0) + 1
        if not line["typed_through"]:
            found[*group, counts[group]] = max(line["ms"], 0.01)
    return found


def _drift(before: Results, after: Results) -> Iterator[Difference]:
    for recycled, what in ((False, "drift of a pass"), (True, "drift of a pass with recycled processes")):
        one, other = (drift(run, recycled=recycled) for run in (before, after))
        if one is not None and other is not None:
            a, b = one.slower, other.slower
            half = ((a.high - a.low) ** 2 + (b.high - b.low) ** 2) ** 0.5 / 2
            change = b.value - a.value
            p = 1.0 if abs(change) <= half else SIGNIFICANT
            estimate = Estimate(change, change - half, change + half, p)
            yield Difference(what, "per 100", estimate, min(one.generations, other.generations))


def _ratio(logarithm: Estimate) -> Estimate:
    return Estimate(exp(logarithm.value), exp(logarithm.low), exp(logarithm.high), logarithm.p)
