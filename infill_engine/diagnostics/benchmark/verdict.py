"""Which model to switch on, with which budget and how many candidates; and why, with the numbers.

Model, budget and number of candidates are weighed together. What the engine would choose by itself stays, in 150 ms
with 4 candidates, unless another choice is significantly better on the same problems, or unless it does not answer in
time. The probability that counts as significant is divided by the number of other choices (Bonferroni). A choice is
better if its score is: half for being right first, half for being right among all candidates.
"""

from dataclasses import dataclass

from infill_engine.diagnostics.benchmark.figures import (
    answers,
    any_is_right,
    first_is_right,
    inside,
    paired,
    quality,
    typing_ms,
)
from infill_engine.diagnostics.benchmark.results import BenchmarkSetting, Record, Results
from infill_engine.diagnostics.benchmark.running import SERVED, USUAL
from infill_engine.diagnostics.benchmark.statistics import SIGNIFICANT, Estimate, mean, median

SLOWEST_MS = 300.0  # a longer budget is not recommended for typing, whatever it brings
IN_TIME = 0.95  # share of the answers inside the budget that a setting needs

BenchmarkChoice = tuple[str, BenchmarkSetting]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A recommendation in the words of the settings, and a sentence that gives the reason."""

    model: str
    budget_ms: int
    candidates: int
    reason: str
    numbers: dict[str, float]


def judge(results: Results) -> Verdict | None:
    """Return the verdict on a run; None if no model was measured with the usual setting."""
    known = {
        (model, setting): lines
        for (model, way, setting), lines in answers(results).items()
        if way == SERVED and setting.budget_ms <= SLOWEST_MS
    }
    usual = next(((model, USUAL) for model in results.header["models"] if (model, USUAL) in known), None)
    if usual is None:
        return None
    (model, setting), gain = _choice(usual, known)
    found = quality(model, SERVED, setting, known[model, setting])
    numbers = {
        "problems": found.problems,
        "right_first": round(found.first.value, 4),
        "right_first_low": round(found.first.low, 4),
        "right_first_high": round(found.first.high, 4),
        "right_among_all": round(found.any.value, 4),
        "median_ms": round(found.ms, 1),
        "inside_budget": round(found.inside, 4),
    }
    typed = typing_ms(results)
    if typed and model == results.header["models"][0]:
        numbers |= {"typing_p50_ms": round(median(typed), 1)}
        numbers |= {"typing_inside_budget": round(mean([time <= setting.budget_ms for time in typed]), 4)}
    if gain is not None:
        numbers |= {"gain": round(gain.value, 4), "gain_low": round(gain.low, 4), "gain_high": round(gain.high, 4)}
        numbers |= {"gain_p": round(gain.p, 5)}
    reason = _recommendation(model, setting, numbers)
    return Verdict(model, int(setting.budget_ms), setting.candidates, reason, numbers)


def score(line: Record) -> float:
    """Half for being right first, half for being right among all candidates."""
    return (first_is_right(line) + any_is_right(line)) / 2


def _choice(
    usual: BenchmarkChoice, known: dict[BenchmarkChoice, list[Record]]
) -> tuple[BenchmarkChoice, Estimate | None]:
    """Return the engine's own choice, or the one furthest ahead of it among those significantly ahead, with its gain.

    If the own choice is late, the others that are in time are weighed by their scores alone.
    """
    lines = known[usual]
    gains = {
        choice: paired(lines, found, score)
        for choice, found in known.items()
        if choice != usual and inside(found, choice[1].budget_ms) >= IN_TIME
    }
    if inside(lines, USUAL.budget_ms) >= IN_TIME:
        gains = {choice: gain for choice, gain in gains.items() if gain.p < SIGNIFICANT / len(gains) and gain.value > 0}
    best = max(gains, key=lambda choice: gains[choice].value, default=usual)
    return best, gains.get(best)


def _recommendation(model: str, setting: BenchmarkSetting, numbers: dict[str, float]) -> str:
    typing = ""
    if "typing_p50_ms" in numbers:
        typing = (
            f"; while typing, half of the answers arrive within {numbers['typing_p50_ms']:.0f} ms and "
            f"{numbers['typing_inside_budget']:.1%} within the budget"
        )
    return (
        f"Use the model {model} with {setting.budget_ms:.0f} ms and {setting.candidates} "
        f"candidate{'s' * (setting.candidates > 1)}: its first "
        f"text is right for {numbers['right_first']:.0%} of {numbers['problems']} problems "
        f"({numbers['right_first_low']:.0%} to {numbers['right_first_high']:.0%}), one of all for "
        f"{numbers['right_among_all']:.0%}{typing}."
    )
