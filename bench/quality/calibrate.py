"""Fits the product's confidence weights to results and evaluates them on other results.

    python -m bench.quality.calibrate results-to-fit.jsonl.gz --judge results.jsonl.gz --out calibration.json

A logistic regression by Newton's method on everything the engine weighed, not only what it showed. The target: the
proposal was as good as the gold text (`reports/acceptance.py`) or, for a partial one, at least its first half. The
variables are the features and the pairwise products that contribute most, selected one by one. The weights are fitted
on the results of some packages and evaluated on those of others. The output also contains the lowest confidence above
which the share of correct first candidates is at least --precision; from there on they are shown automatically, at
every level of eagerness until typing (`bench.quality.typed`) says which levels there should be. The engine uses the
file if it is stored next to the model's weights.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from bench.logistic_regression import Floats, fitted, information, logistic
from bench.quality.reports import metrics
from bench.quality.reports.outcomes import Outcome, read_outcomes
from infill_engine.errors import InfillError, InputError
from infill_engine.ranking.calibration import NAMES, PAIR, Calibration
from infill_engine.ranking.syntax_check import brokenness
from infill_engine.types import Eagerness, Level

Pair = tuple[int, int]  # of features, by index
ALL_PAIRS = tuple(combinations_with_replacement(range(len(NAMES)), 2))
RIDGE = 2.0  # penalty on the weights of standardised features, in observations
MOST_PAIRS = 12  # most pairwise products to include; further ones add little
# A product is included from this gain on: the best of as many products that say nothing rarely gains so much (risk
# inflation criterion; Foster and George 1994).
LEAST_GAIN = 2 * np.log(len(ALL_PAIRS))
NOTHING = 1e-9
LEAST = 40  # fewest proposals to fit or evaluate on; with fewer, weights are noise


@dataclass(frozen=True, slots=True)
class Weighed:
    """What the engine weighed for each hole: features [G, F], correctness [G], hole number [G]."""

    features: Floats
    right: Floats
    hole: NDArray[np.int64]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.quality.calibrate", description="Fits confidences.")
    parser.add_argument("results", type=Path, help="raw results of python -m bench.quality to fit on")
    parser.add_argument("--judge", type=Path, required=True, help="those of other packages or problems, to report on")
    parser.add_argument("--out", type=Path, required=True, help="calibration.json, to be laid beside the model")
    parser.add_argument("--system", default="engine")
    parser.add_argument("--precision", type=float, default=0.6, help="share of shown first candidates to be right")
    options = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    try:
        fitting, reporting = (_of(options.system, path) for path in (options.results, options.judge))
        shared = {outcome.cluster for outcome in fitting} & {outcome.cluster for outcome in reporting}
        if shared:
            raise InputError(f"fitted and judged on the same packages, {', '.join(sorted(shared))}: take others")
        fitted_on, reported_on = proposals_of(fitting), proposals_of(reporting)
        calibration = fit(fitted_on)
        threshold = gate(calibration, fitted_on, options.precision)
        result = {
            "fitted_on": len(fitting),
            "reported_on": len(reporting),
            "built_in": worth(Calibration(), reported_on),
            "fitted": worth(calibration, reported_on),
            "gate": {"threshold": threshold, **shown(calibration, reported_on, threshold)},
        }
        levels = {level: Level(threshold) for level in Eagerness}
        calibration = msgspec.structs.replace(calibration, levels=levels)
    except InfillError as fault:
        print(fault, file=sys.stderr)
        return 2
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(calibration.to_json())
    for name in NAMES:
        print(f"{name:32} {Calibration().weights.get(name, 0.0):8.3f} -> {calibration.weights[name]:8.3f}")
    for name, weight in calibration.pairs.items():
        print(f"{name:32} {0:8.3f} -> {weight:8.3f}")
    print(json.dumps(result))
    return 0


def proposals_of(outcomes: Sequence[Outcome]) -> Weighed:
    """Return the proposals of non-trivial holes.

    Raises InputError if there are too few to fit or judge, or if they come from a version with other features.
    """
    rows: list[list[float]] = []
    right: list[float] = []
    hole: list[int] = []
    for number, outcome in enumerate(outcomes):
        for proposal in () if outcome.trivial else outcome.proposals:
            if proposal["features"].keys() != {*NAMES}:
                raise InputError("the results are of a product that weighed other features: measure again")
            rows.append([float(proposal["features"][name]) for name in NAMES])
            right.append(float(proposal["right"]))
            hole.append(number)
    if len(rows) < LEAST or not 0 < sum(right) < len(right):
        raise InputError(
            f"only {len(rows)} proposals, {int(sum(right))} of them right: "
            "measure more holes, with the engine among the systems"
        )
    return Weighed(np.array(rows), np.array(right), np.array(hole))


def fit(proposals: Weighed) -> Calibration:
    """Return the weights of the features and of the most useful pairs that maximise the penalised likelihood."""
    features, right = proposals.features, proposals.right
    products = _columns(features, ALL_PAIRS)[:, len(NAMES) :]
    pairs: list[Pair] = []
    found = _maximised(features, right)
    while len(pairs) < MOST_PAIRS:
        gains = _gains(_columns(features, pairs), right, found, products)
        gains[[ALL_PAIRS.index(pair) for pair in pairs]] = 0.0
        if gains.max() < LEAST_GAIN:
            break
        pairs.append(ALL_PAIRS[int(gains.argmax())])
        found = _maximised(_columns(features, pairs), right)
    bias, *weights = (round(float(value), 5) for value in found)
    names = [PAIR.join(NAMES[number] for number in pair) for pair in pairs]
    of_pairs = dict(zip(names, weights[len(NAMES) :], strict=True))
    return Calibration(bias=bias, weights=dict(zip(NAMES, weights, strict=False)), pairs=of_pairs)


def _pair(one: str, other: str) -> Pair:
    return NAMES.index(one), NAMES.index(other)


def _columns(features: Floats, pairs: Sequence[Pair]) -> Floats:
    """Return the features [G, F] followed by the products of those pairs."""
    return np.hstack([features, *(features[:, [one]] * features[:, [other]] for one, other in pairs)])


def _maximised(columns: Floats, right: Floats) -> Floats:
    """Return the bias and the weights of the columns [1 + C]. A constant column gets weight 0."""
    scale = _spread(columns)
    mean = columns.mean(0)
    x = _with_bias((columns - mean) / scale)
    weights = fitted(x, right, _penalty(x))
    raw = np.where(np.isinf(scale), 0.0, weights[1:] / scale)
    return np.concatenate([[weights[0] - float(raw @ mean)], raw])


def _gains(columns: Floats, right: Floats, weights: Floats, more: Floats) -> Floats:
    """Estimate each column's gain if added to a fit: about twice its gain in log-likelihood (Rao's score test)."""
    probability = logistic(_with_bias(columns) @ weights)
    variance = (probability * (1 - probability))[:, None]
    x = _with_bias((columns - columns.mean(0)) / _spread(columns))
    across = (x * variance).T @ more
    whole = (more**2 * variance).sum(0)
    unexplained = whole - (across * np.linalg.solve(information(x, probability, _penalty(x)), across)).sum(0)
    says_something = unexplained > NOTHING * np.maximum(whole, 1.0)
    found: Floats = np.where(
        says_something, (more.T @ (right - probability)) ** 2 / np.maximum(unexplained, NOTHING), 0.0
    )
    return found


def _spread(columns: Floats) -> Floats:
    """Return standard deviations; infinite for constant columns, which makes them vanish after scaling."""
    spread = columns.std(0)
    return np.where(spread > NOTHING, spread, np.inf)


def _with_bias(columns: Floats) -> Floats:
    return np.hstack([np.ones((len(columns), 1)), columns])


def _penalty(x: Floats) -> Floats:
    return np.array([0.0, *[RIDGE] * (x.shape[1] - 1)])


def worth(calibration: Calibration, proposals: Weighed) -> dict[str, Any]:
    """Evaluate the confidences over all proposals, and how often the most confident proposal of a hole was correct.

    `first_right` ranks as the engine does: proposals that break the syntax come last.
    """
    probability = _probability(calibration, proposals)
    loss = -np.mean(proposals.right * np.log(probability) + (1 - proposals.right) * np.log(1 - probability))
    bins = metrics.reliability(probability.tolist(), [bool(value) for value in proposals.right])
    firsts = _firsts(probability, proposals)
    return {
        "proposals": len(proposals.right),
        "log_loss": round(float(loss), 4),
        "brier": round(float(np.mean((probability - proposals.right) ** 2)), 4),
        "ece": round(metrics.expected_calibration_error(bins), 4),
        "first_right": round(float(proposals.right[firsts].mean()), 4),
        "first_confidence": round(float(probability[firsts].mean()), 4),
        "bins": bins,
    }


def gate(calibration: Calibration, proposals: Weighed, precision: float) -> float:
    """Return the lowest confidence, in hundredths, above which `precision` of first proposals are correct; else 1."""
    for hundredths in range(1, 100):
        kept = shown(calibration, proposals, hundredths / 100)
        if kept["right"] >= precision and kept["holes"]:
            return hundredths / 100
    return 1.0


def shown(calibration: Calibration, proposals: Weighed, threshold: float) -> dict[str, Any]:
    """Return how many holes have a first proposal at the threshold, their share of all, and the share correct."""
    probability = _probability(calibration, proposals)
    firsts = _firsts(probability, proposals)
    kept = [first for first in firsts if probability[first] >= threshold]
    return {
        "holes": len(kept),
        "share": round(len(kept) / len(firsts), 4),
        "right": round(float(proposals.right[kept].mean()), 4) if kept else 0.0,
    }


def _firsts(probability: Floats, proposals: Weighed) -> list[int]:
    """Return each hole's first proposal as the engine ranks them."""
    broken = [brokenness(faults) for faults in proposals.features[:, NAMES.index("new_faults")]]
    firsts = []
    for number in np.unique(proposals.hole):
        members = np.flatnonzero(proposals.hole == number)
        firsts.append(int(min(members, key=lambda member: (broken[member], -probability[member]))))
    return firsts


def _probability(calibration: Calibration, proposals: Weighed) -> Floats:
    pairs = [_pair(*name.split(PAIR)) for name in calibration.pairs]
    weights = [*(calibration.weights.get(name, 0.0) for name in NAMES), *calibration.pairs.values()]
    scores = _columns(proposals.features, pairs) @ np.array(weights) + calibration.bias
    clipped: Floats = np.clip(logistic(scores), 1e-6, 1 - 1e-6)
    return clipped


def _of(system: str, results: Path) -> list[Outcome]:
    return [outcome for outcome in read_outcomes(results) if outcome.system == system]


if __name__ == "__main__":
    sys.exit(main())
