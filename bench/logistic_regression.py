"""Logistic regression with a ridge penalty, by Newton's method."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
STEPS, CLOSE = 50, 1e-8
LEAST = 1e-9  # added to the information's diagonal: equal columns and certain observations can be solved, too


def fitted(x: Floats, right: Floats, penalty: Floats, counts: Floats | float = 1.0) -> Floats:
    """Return the weights [F] that maximise the penalised likelihood of `right` [N] given the columns x [N, F].

    `penalty` [F] is that of each weight, in observations. An observation counts as `counts` [N] of them.
    """
    weights = np.zeros(x.shape[1])
    for _ in range(STEPS):
        probability = logistic(x @ weights)
        gradient = x.T @ (counts * (right - probability)) - penalty * weights
        step = np.linalg.solve(information(x, probability, penalty, counts), gradient)
        weights = weights + step
        if float(np.abs(step).max()) < CLOSE:
            break
    return weights


def information(x: Floats, probability: Floats, penalty: Floats, counts: Floats | float = 1.0) -> Floats:
    """Return the negative second derivative [F, F] of the penalised likelihood."""
    variance = counts * probability * (1 - probability)
    found: Floats = (x * variance[:, None]).T @ x + np.diag(penalty + LEAST)
    return found


def logistic(scores: Floats) -> Floats:
    """Return probabilities, kept apart from 0 and 1."""
    found: Floats = 1 / (1 + np.exp(-np.clip(scores, -30, 30)))
    return found
