"""From a proposal's features to a confidence: a logistic regression, fitted for each model.

Fitted weights are stored beside the model in calibration.json:

    {"bias": B, "show_from": P, "weights": {"FEATURE": W, …}, "pairs": {"FEATURE*FEATURE": W, …}}
"""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from infill_engine.errors import ModelDamagedError
from infill_engine.ranking.features import Features

PAIR = "*"  # separates the names of two features
REMEDY = "Fetch the model again, or remove its calibration file to use the built-in weights."
NAMES = tuple(each.name for each in fields(Features))
# Set by hand, for a model without fitted weights. A feature that is not listed has weight 0.
BY_HAND: Mapping[str, float] = {
    "mean_logprob": 1.5,
    "min_logprob": 0.3,
    "length_logprob": 0.15,
    "stability": 0.4,
    "new_faults": -1.2,
    "copied": -0.5,
    "matched": 0.15,
    "analogous": -0.5,
    "alike": 0.15,
    "share": 0.3,
    "agreement": 1.2,
    "tokens": -0.25,
    "redefines": -1.0,
    "partial": -0.6,
    "own_draft": 0.3,
    "draft_logprob": 0.4,
    "scored": -0.5,
    "probability_share": 1.5,
}


@dataclass(frozen=True, slots=True)
class Calibration:
    """Weights of the features by name, and of products of two of them ("copied*tokens").

    `show_from` is the minimum confidence at which a first candidate is worth showing unasked.
    """

    bias: float = 0.6
    show_from: float = 0.1
    weights: Mapping[str, float] = field(default_factory=lambda: BY_HAND)
    pairs: Mapping[str, float] = field(default_factory=dict)

    def confidence(self, features: Features) -> float:
        """Return the probability, between 0 and 1, that a proposal with these features is what the user wants.

        It is 0 if a feature is not a number.
        """
        values = asdict(features)
        score = self.bias + sum(self.weights.get(name, 0.0) * value for name, value in values.items())
        for pair, weight in self.pairs.items():
            one, other = pair.split(PAIR)
            score += weight * values[one] * values[other]
        return 0.0 if math.isnan(score) else 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))

    def to_json(self) -> str:
        """Return the contents of calibration.json."""
        stored = {name: dict(value) if isinstance(value, Mapping) else value for name, value in _parts(self).items()}
        return json.dumps(stored, indent=2, sort_keys=True) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Calibration":
        """Parse the output of `to_json`. Raises ModelDamagedError for anything else."""
        try:
            stored = json.loads(text)
        except ValueError as error:
            raise ModelDamagedError(f"The model's calibration is not JSON: {error}. {REMEDY}") from error
        expected = {each.name for each in fields(cls)}
        if not isinstance(stored, dict) or not stored.keys() <= expected:
            raise ModelDamagedError(
                f"The model's calibration should be an object with {', '.join(sorted(expected))}. {REMEDY}"
            )
        for name in ("weights", "pairs"):
            if not isinstance(stored.get(name, {}), dict):
                raise ModelDamagedError(f"The {name} of the model's calibration are not an object. {REMEDY}")
        single, pairs = stored.get("weights", {}), stored.get("pairs", {})
        for name, weight in (*single.items(), *pairs.items(), *((each, stored.get(each, 0.0)) for each in _NUMBERS)):
            parts = name.split(PAIR)
            if name not in _NUMBERS and (len(parts) != 1 + (name in pairs) or not set(parts) <= set(NAMES)):
                raise ModelDamagedError(f"The model's calibration names an unknown weight, {name!r}. {REMEDY}")
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not math.isfinite(weight):
                raise ModelDamagedError(f"The weight {name!r} of the model's calibration is not a number. {REMEDY}")
        return cls(**stored)


_NUMBERS = ("bias", "show_from")
BUILT_IN = Calibration()


def _parts(calibration: Calibration) -> dict[str, Any]:
    return {each.name: getattr(calibration, each.name) for each in fields(calibration)}
