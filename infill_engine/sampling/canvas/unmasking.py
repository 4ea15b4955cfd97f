"""Which open slots a step commits, and which committed slots it reopens."""

import numpy as np
from numpy.typing import NDArray

from infill_engine.sampling.canvas.prediction import Prediction
from infill_engine.settings import SamplerSettings

Ints = NDArray[np.int64]


def to_commit(prediction: Prediction, rows: Ints, steps_left: int, settings: SamplerSettings) -> Ints:
    """Return which of the W open positions of `prediction` to commit now. `rows` [W] says which row each belongs to.

    In each row, slots are taken in order of entropy while the sum of the entropies before them stays within the bound
    (arXiv 2505.24857). At least one slot is taken, and enough to finish the row in `steps_left` steps. Slots that are
    at least `settings.sure` probable are always taken.
    """
    chosen: list[Ints] = []
    for row in np.unique(rows):
        members = np.flatnonzero(rows == row)
        entropy = prediction.entropy[members]
        order = members[np.argsort(entropy, kind="stable")]
        sorted_entropy = prediction.entropy[order]
        within = int(np.searchsorted(np.cumsum(sorted_entropy) - sorted_entropy, settings.entropy_bound, "right"))
        least = -(-len(order) // max(1, steps_left))
        count = max(1, within, least)
        sure = order[count:][prediction.best_logprob[order[count:]] >= np.log(settings.sure)]
        chosen += [order[:count], sure]
    return np.sort(np.concatenate(chosen)) if chosen else np.empty(0, dtype=np.int64)


def to_doubt(prediction: Prediction, settings: SamplerSettings) -> Ints:
    """Return indices of filled positions whose token has become improbable while another one is probable."""
    improbable = prediction.held_logprob < np.log(settings.doubt)
    return np.flatnonzero(improbable & (prediction.best_logprob >= np.log(settings.overrule)))
