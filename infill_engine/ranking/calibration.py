"""The confidence of a proposal: a logistic regression on its features, fitted for each model.

Fitted weights are stored beside the model in calibration.json:

    {"bias": B, "weights": {"FEATURE": W, …}, "pairs": {"FEATURE*FEATURE": W, …},
     "levels": {"balanced": {"show_from": P, "shown": S, "wrong": S}, …}}
"""

import math
from collections.abc import Mapping
from dataclasses import fields

import msgspec

from infill_engine.errors import ModelDamagedError
from infill_engine.ranking.features import Features
from infill_engine.types import Eagerness, Level

PAIR = "*"  # separates the names of two features
REMEDY = "Fetch the model again, or remove its calibration file to use the built-in weights."
NAMES = tuple(each.name for each in fields(Features))
LEVELS: Mapping[Eagerness, Level] = {
    Eagerness.QUIET: Level(0.3),
    Eagerness.BALANCED: Level(0.1),
    Eagerness.EAGER: Level(0.05),
}
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


class Calibration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Weights of the features by name, and of products of two of them ("copied*tokens").

    `levels` give the minimum confidence at which a first candidate is shown unasked.
    """

    bias: float = 0.6
    levels: Mapping[Eagerness, Level] = msgspec.field(default_factory=lambda: LEVELS)
    weights: Mapping[str, float] = msgspec.field(default_factory=lambda: BY_HAND)
    pairs: Mapping[str, float] = msgspec.field(default_factory=dict)

    def confidence(self, features: Features) -> float:
        """Return the probability, between 0 and 1, that a proposal with these features is what the user wants.

        It is 0 if a feature is not a number.
        """
        values = {name: getattr(features, name) for name in NAMES}
        score = self.bias + sum(self.weights.get(name, 0.0) * value for name, value in values.items())
        for pair, weight in self.pairs.items():
            one, other = pair.split(PAIR)
            score += weight * values[one] * values[other]
        return 0.0 if math.isnan(score) else 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))

    def threshold(self, show_from: float | Eagerness) -> float:
        """Return the minimum confidence of what is shown unasked."""
        return self.levels[show_from].show_from if isinstance(show_from, Eagerness) else show_from

    def to_json(self) -> str:
        """Return the contents of calibration.json."""
        return msgspec.json.format(msgspec.json.encode(self, order="sorted")).decode() + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Calibration":
        """Parse the output of `to_json`. Raises ModelDamagedError for anything else."""
        try:
            found = msgspec.json.decode(text, type=cls)
        except msgspec.MsgspecError as error:
            raise ModelDamagedError(f"The model's calibration cannot be used: {error}. {REMEDY}") from error
        unknown = [name for name in found.weights if name not in NAMES]
        unknown += [pair for pair in found.pairs if pair.count(PAIR) != 1 or not {*pair.split(PAIR)} <= {*NAMES}]
        unknown += [level.value for level in Eagerness if level not in found.levels]
        if unknown:
            raise ModelDamagedError(f"The model's calibration has unknown weights or lacks levels: {unknown}. {REMEDY}")
        return found


BUILT_IN = Calibration()
