"""Which model to switch on, with which budget and how many candidates; and why, with the numbers.

Model, budget and number of candidates are weighed together. What the engine would choose by itself stays, in 150 ms
with 4 candidates, unless another choice is significantly better on the same problems, or unless it does not answer in
time. The probability that counts as significant is divided by the number of other choices (Bonferroni). A choice is
better if its score is: half for being right first, half for being right among all candidates.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from infill_engine.diagnostics.benchmark.figures import (
    Duel,
    any_is_right,
    by_problem,
    duels,
    first_is_right,
    inside,
    paired,
    typing_ms,
)
from infill_engine.diagnostics.benchmark.left_to_right import LEFT_TO_RIGHT
from infill_engine.diagnostics.benchmark.plan import QUALITY, USUAL_CANDIDATES, USUAL_MS
from infill_engine.diagnostics.benchmark.results import Record, Results
from infill_engine.diagnostics.benchmark.statistics import SIGNIFICANT, Estimate, mean, mean_of, median

SLOWEST_MS = 300.0  # a longer budget is not recommended for typing, whatever it brings
IN_TIME = 0.95  # share of the answers inside the budget that a setting needs

Setting = tuple[float, int]  # budget in ms, candidates
Answers = dict[Setting, list[Record]]
Choice = tuple[str, Setting]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A recommendation in the words of the settings, and two sentences about it."""

    model: str
    budget_ms: int
    candidates: int
    sentences: tuple[str, str]
    numbers: dict[str, float]

    @property
    def reason(self) -> str:
        """Both sentences."""
        return " ".join(self.sentences)


def judge(results: Results) -> Verdict | None:
    """Return the verdict on a run; None if no model was measured with the usual setting."""
    models = {model: found for model in results.header["models"] if (found := _answers(results, model))}
    usual = {model: found[USUAL_MS, USUAL_CANDIDATES] for model, found in models.items() if _has_usual(found)}
    if not usual:
        return None
    own = next(iter(usual))
    (model, setting), gain = _choice(own, models)
    lines = models[model][setting]
    first = mean_of(list(by_problem(lines, first_is_right).values()))
    numbers = {
        "problems": len(lines),
        "right_first": round(first.value, 4),
        "right_first_low": round(first.low, 4),
        "right_first_high": round(first.high, 4),
        "right_among_all": round(mean([any_is_right(line) for line in lines]), 4),
        "median_ms": round(median([line["ms"] for line in lines]), 1),
        "inside_budget": round(inside(lines, setting[0]), 4),
    }
    typed = typing_ms(results)
    if typed and model == results.header["models"][0]:
        numbers |= {"typing_p50_ms": round(median(typed), 1)}
        numbers |= {"typing_inside_budget": round(mean([time <= setting[0] for time in typed]), 4)}
    if gain is not None:
        numbers |= {"gain": round(gain.value, 4), "gain_low": round(gain.low, 4), "gain_high": round(gain.high, 4)}
        numbers |= {"gain_p": round(gain.p, 5)}
    sentences = _recommendation(model, setting, numbers), _comparison(duels(results), model, setting[1])
    return Verdict(model, int(setting[0]), setting[1], sentences, numbers)


def score(line: Record) -> float:
    """Half for being right first, half for being right among all candidates."""
    return (first_is_right(line) + any_is_right(line)) / 2


def _answers(results: Results, model: str) -> Answers:
    found: Answers = {}
    for line in results.of("answer", suite=QUALITY, model=model):
        if line["budget_ms"] is not None and line["budget_ms"] <= SLOWEST_MS:
            found.setdefault((line["budget_ms"], line["candidates"]), []).append(line)
    return found


def _has_usual(found: Answers) -> bool:
    return (USUAL_MS, USUAL_CANDIDATES) in found


def _choice(own: str, models: dict[str, Answers]) -> tuple[Choice, Estimate | None]:
    """Return the engine's own choice, or the one furthest ahead of it among those significantly ahead, with its gain.

    If the own choice is late, the others that are in time are weighed by their scores alone.
    """
    usual = own, (USUAL_MS, USUAL_CANDIDATES)
    lines = models[own][usual[1]]
    timely = {
        (model, setting): found
        for model, settings in models.items()
        for setting, found in settings.items()
        if (model, setting) != usual and inside(found, setting[0]) >= IN_TIME
    }
    gains = {choice: paired(lines, found, score) for choice, found in timely.items()}
    if inside(lines, USUAL_MS) >= IN_TIME:
        gains = {choice: gain for choice, gain in gains.items() if gain.p < SIGNIFICANT / len(gains) and gain.value > 0}
    best = max(gains, key=lambda choice: gains[choice].value, default=usual)
    return best, gains.get(best)


def _recommendation(model: str, setting: Setting, numbers: dict[str, float]) -> str:
    budget_ms, candidates = setting
    typing = ""
    if "typing_p50_ms" in numbers:
        typing = (
            f"; while typing, half of the answers arrive within {numbers['typing_p50_ms']:.0f} ms and "
            f"{numbers['typing_inside_budget']:.1%} within the budget"
        )
    return (
        f"Use the model {model} with {budget_ms:.0f} ms and {candidates} candidate{'s' * (candidates > 1)}: its first "
        f"text is right for {numbers['right_first']:.0%} of {numbers['problems']} problems "
        f"({numbers['right_first_low']:.0%} to {numbers['right_first_high']:.0%}), one of all for "
        f"{numbers['right_among_all']:.0%}{typing}."
    )


def _comparison(known: Sequence[Duel], model: str, candidates: int) -> str:
    same = [each for each in known if (each.model, each.other, each.budget_ms) == (model, LEFT_TO_RIGHT, USUAL_MS)]
    if not same:
        return "The same weights were not measured from left to right."
    duel = max(same, key=lambda each: (each.candidates == candidates, each.candidates))
    points, low, high = (100 * value for value in (duel.first.value, duel.first.low, duel.first.high))
    ahead = "better" if points > 0 else "worse"
    sure = f"significantly {ahead}" if duel.first.is_significant else "neither significantly better nor worse"
    return (
        f"Against the same weights from left to right in {duel.budget_ms:.0f} ms, the product's first texts are {sure} "
        f"({points:+.0f} points, {low:+.0f} to {high:+.0f}, on {duel.problems} problems), and left to right takes "
        f"{duel.ms_ratio:.2f} times as long."
    )
