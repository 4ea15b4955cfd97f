"""Fits the weights of the product's confidence to results, and says what they are worth where they were not fitted.

    python -m bench.quality.calibrate results-to-fit.jsonl.gz --judge results.jsonl.gz --out calibration.json

A logistic regression, by Newton's method, on everything the engine weighed (not only what it showed): was the guess
the gold text, or, for a partial one, at least the first half of it? Fitted on the results of some packages, reported
on those of others. With them comes the least confidence from which on so many of the first candidates are right as
--precision asks for: from there on they are shown unasked. Laid beside a model's weights, the file is what the engine
uses for that model.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.quality import metrics
from bench.quality.outcomes import Outcome, read_outcomes
from infill_engine.errors import InfillError, InputError
from infill_engine.rank import Calibration, Features, brokenness

Floats = NDArray[np.float64]
NAMES = tuple(field.name for field in fields(Features))
RIDGE = 2.0  # penalty on the weights of standardised features, in observations
STEPS = 50
LEAST = 40  # guesses on either side, below which weights are noise


@dataclass(frozen=True, slots=True)
class Guesses:
    """What the engine weighed for each hole: features [G, F], whether right [G], the hole's number [G]."""

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
        fitted_on, reported_on = guesses_of(fitting), guesses_of(reporting)
        fitted = fit(fitted_on)
        threshold = gate(fitted, fitted_on, options.precision)
        result = {
            "fitted_on": len(fitting),
            "reported_on": len(reporting),
            "built_in": worth(Calibration(), reported_on),
            "fitted": worth(fitted, reported_on),
            "gate": {"threshold": threshold, **shown(fitted, reported_on, threshold)},
        }
        fitted = replace(fitted, show_from=threshold)
    except InfillError as fault:
        print(fault, file=sys.stderr)
        return 2
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(fitted.to_json())
    for name in NAMES:
        print(f"{name:16} {getattr(Calibration(), name):8.3f} -> {getattr(fitted, name):8.3f}")
    print(json.dumps(result))
    return 0


def guesses_of(outcomes: Sequence[Outcome]) -> Guesses:
    """The guesses of non-trivial holes. Raises InputError when there are too few to learn from or to judge by."""
    rows: list[list[float]] = []
    right: list[float] = []
    hole: list[int] = []
    for number, outcome in enumerate(outcomes):
        for guess in () if outcome.trivial else outcome.guesses:
            rows.append([float(guess["features"][name]) for name in NAMES])
            right.append(float(guess["right"]))
            hole.append(number)
    if len(rows) < LEAST or not 0 < sum(right) < len(right):
        raise InputError(
            f"only {len(rows)} guesses, {int(sum(right))} of them right: "
            "measure more holes, with the engine among the systems"
        )
    return Guesses(np.array(rows), np.array(right), np.array(hole))


def fit(guesses: Guesses) -> Calibration:
    """The weights that maximise the penalised likelihood."""
    mean, spread = guesses.features.mean(0), guesses.features.std(0)
    varies = spread > 1e-9
    scale = np.where(varies, spread, 1.0)
    # A feature that never varies keeps no weight.
    x = np.hstack([np.ones((len(guesses.right), 1)), np.where(varies, (guesses.features - mean) / scale, 0.0)])
    penalty = np.diag([0.0, *[RIDGE] * len(NAMES)])
    weights = np.zeros(x.shape[1])
    for _ in range(STEPS):
        probability = _logistic(x @ weights)
        gradient = x.T @ (guesses.right - probability) - penalty @ weights
        curvature = (x * (probability * (1 - probability))[:, None]).T @ x + penalty + 1e-9 * np.eye(len(weights))
        step = np.linalg.solve(curvature, gradient)
        weights = weights + step
        if float(np.abs(step).max()) < 1e-8:
            break
    raw = weights[1:] / scale
    bias = float(weights[0] - (raw * mean)[varies].sum())
    rounded = {name: round(float(value), 5) for name, value in zip(NAMES, np.where(varies, raw, 0.0), strict=True)}
    return Calibration(bias=round(bias, 5), **rounded)


def worth(calibration: Calibration, guesses: Guesses) -> dict[str, Any]:
    """How good the confidences are over all guesses, and how often the most confident guess of a hole was right.

    `first_right` ranks as the engine does: a guess that breaks the syntax comes after every one that does not.
    """
    probability = _probability(calibration, guesses)
    loss = -np.mean(guesses.right * np.log(probability) + (1 - guesses.right) * np.log(1 - probability))
    bins = metrics.reliability(probability.tolist(), [bool(value) for value in guesses.right])
    firsts = _firsts(probability, guesses)
    return {
        "guesses": len(guesses.right),
        "log_loss": round(float(loss), 4),
        "brier": round(float(np.mean((probability - guesses.right) ** 2)), 4),
        "ece": round(metrics.expected_calibration_error(bins), 4),
        "first_right": round(float(guesses.right[firsts].mean()), 4),
        "first_confidence": round(float(probability[firsts].mean()), 4),
        "bins": bins,
    }


def gate(calibration: Calibration, guesses: Guesses, precision: float) -> float:
    """The least confidence, in hundredths, from which on at least that share of first guesses is right; else 1."""
    for hundredths in range(1, 100):
        kept = shown(calibration, guesses, hundredths / 100)
        if kept["right"] >= precision and kept["holes"]:
            return hundredths / 100
    return 1.0


def shown(calibration: Calibration, guesses: Guesses, threshold: float) -> dict[str, Any]:
    """How many holes have a first guess at least so confident, their share of all, and the share that is right."""
    probability = _probability(calibration, guesses)
    firsts = _firsts(probability, guesses)
    kept = [first for first in firsts if probability[first] >= threshold]
    return {
        "holes": len(kept),
        "share": round(len(kept) / len(firsts), 4),
        "right": round(float(guesses.right[kept].mean()), 4) if kept else 0.0,
    }


def _firsts(probability: Floats, guesses: Guesses) -> list[int]:
    """Each hole's first guess as the engine ranks them."""
    broken = [brokenness(faults) for faults in guesses.features[:, NAMES.index("new_faults")]]
    firsts = []
    for number in np.unique(guesses.hole):
        members = np.flatnonzero(guesses.hole == number)
        firsts.append(int(min(members, key=lambda member: (broken[member], -probability[member]))))
    return firsts


def _probability(calibration: Calibration, guesses: Guesses) -> Floats:
    weights = asdict(calibration)
    scores = guesses.features @ np.array([weights[name] for name in NAMES]) + calibration.bias
    clipped: Floats = np.clip(_logistic(scores), 1e-6, 1 - 1e-6)
    return clipped


def _of(system: str, results: Path) -> list[Outcome]:
    return [outcome for outcome in read_outcomes(results) if outcome.system == system]


def _logistic(scores: Floats) -> Floats:
    clipped: Floats = 1 / (1 + np.exp(-np.clip(scores, -30, 30)))
    return clipped


if __name__ == "__main__":
    sys.exit(main())
