"""The confidence that a place should be changed as another one was: logistic regression on its features."""

import math
from collections.abc import Sequence

WEIGHTS: tuple[float, ...] = ()


def probability(features: Sequence[float]) -> float:
    """Return the estimated probability for the features in the order of `finders.propagation`."""
    return 1 / (1 + math.exp(-sum(weight * feature for weight, feature in zip(WEIGHTS, features, strict=True))))
