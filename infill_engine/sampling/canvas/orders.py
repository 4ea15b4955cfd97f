"""In which order the slots of a canvas are decided, by confidence or from left to right, and which a step commits."""

import numpy as np
from numpy.typing import NDArray

from infill_engine.models.base import ModelInfo, Order
from infill_engine.models.canvas.canvas import Canvas, SlotState
from infill_engine.sampling.canvas.constraints import Constraints
from infill_engine.sampling.canvas.prediction import SlotPredictions

MAX_STEPS = 5
# In nats: open positions are committed in order of entropy while the entropy they add stays below it (EB-Sampler).
ENTROPY_BOUND = 0.5
SURE = 0.92  # any token that is at least this probable is committed, regardless of the bound
DOUBT, OVERRULE = 0.05, 0.5  # a filled slot is reopened if its token falls below one, and another reaches the other
Ints = NDArray[np.int64]


def order_of(info: ModelInfo, canvas: Canvas) -> "ConfidenceOrder":
    """Return the order in which a model of this kind decides the slots of a canvas."""
    kinds = {Order.CONFIDENCE: ConfidenceOrder, Order.LEFT_TO_RIGHT: LeftToRight}
    return kinds[info.order](canvas)


class ConfidenceOrder:
    """The order of models that may decide any slot: the most confident slots first, and wrong ones are reopened.

    `LeftToRight` overrides what differs. Positions are flat, in the canvas.
    """

    def __init__(self, canvas: Canvas) -> None:
        self.canvas = canvas

    @property
    def most_steps(self) -> int:
        """Return the number of steps after which the canvas must be decided."""
        return MAX_STEPS

    def wanted(self, steps_left: int) -> Ints:
        """Return the positions whose logits a step needs: open slots, drafts, and slots that may be reopened.

        Slots are reopened only in unfinished rows, and not in the last step.
        """
        canvas = self.canvas
        undecided = (canvas.state == SlotState.OPEN) | (canvas.state == SlotState.DRAFT)
        unfinished = np.zeros(canvas.rows, bool)
        unfinished[canvas.row[undecided]] = True
        doubtful = (canvas.state == SlotState.COMMITTED) & unfinished[canvas.row]
        return np.flatnonzero(undecided | doubtful if steps_left > 1 else undecided)

    def decided(self, constraints: Constraints) -> None:
        """Correct the canvas after a step has decided slots, before the constraints see it."""


class LeftToRight(ConfidenceOrder):
    """Decide each row's first open slot, one a step. A row is done at its first end token."""

    @property
    def most_steps(self) -> int:
        """See `ConfidenceOrder`."""
        return int(self.canvas.lengths.max(initial=0))

    def wanted(self, steps_left: int) -> Ints:  # noqa: ARG002
        """Return the first open slot of each row, and the drafts before it, which one step reads and so verifies."""
        canvas = self.canvas
        is_open = canvas.state == SlotState.OPEN
        opened = np.cumsum(is_open)
        before_row = np.concatenate([[0], opened])[np.cumsum(canvas.lengths) - canvas.lengths]
        number = opened - before_row[canvas.row]  # the number of open slots in the row up to this one
        return np.flatnonzero((is_open & (number == 1)) | ((canvas.state == SlotState.DRAFT) & (number == 0)))

    def decided(self, constraints: Constraints) -> None:
        """Reopen all slots after an open one, since they depend on its token, and end rows at their end token."""
        canvas = self.canvas
        for row in range(canvas.rows):
            span = canvas.span(row)
            ids, state = canvas.ids[span], canvas.state[span]
            is_open = np.flatnonzero(state == SlotState.OPEN)
            decided = int(is_open[0]) if len(is_open) else len(ids)
            ends = np.flatnonzero(constraints.is_last(ids[:decided]))
            rest = np.arange(decided if not len(ends) else int(ends[0]) + 1, len(ids)) + span.start
            rest = rest[canvas.state[rest] != SlotState.FIXED]
            if len(ends):
                canvas.ids[rest], canvas.state[rest], canvas.logprob[rest] = (
                    constraints.eos_id,
                    SlotState.COMMITTED,
                    0.0,
                )
            else:
                canvas.state[rest] = SlotState.OPEN


def to_commit(prediction: SlotPredictions, rows: Ints, steps_left: int) -> Ints:
    """Return which of the W open positions of `prediction` to commit now. `rows` [W] says which row each belongs to.

    In each row, slots are taken in order of entropy while the sum of the entropies before them stays within the bound
    (arXiv 2505.24857). At least one slot is taken, and enough to finish the row in `steps_left` steps. Slots that are
    at least SURE probable are always taken.
    """
    chosen: list[Ints] = []
    for row in np.unique(rows):
        members = np.flatnonzero(rows == row)
        entropy = prediction.entropy[members]
        order = members[np.argsort(entropy, kind="stable")]
        sorted_entropy = prediction.entropy[order]
        within = int(np.searchsorted(np.cumsum(sorted_entropy) - sorted_entropy, ENTROPY_BOUND, "right"))
        least = -(-len(order) // max(1, steps_left))
        count = max(1, within, least)
        sure = order[count:][prediction.best_logprob[order[count:]] >= np.log(SURE)]
        chosen += [order[:count], sure]
    return np.sort(np.concatenate(chosen)) if chosen else np.empty(0, dtype=np.int64)


def to_doubt(prediction: SlotPredictions) -> Ints:
    """Return indices of filled positions whose token has become improbable while another one is probable."""
    improbable = prediction.held_logprob < np.log(DOUBT)
    return np.flatnonzero(improbable & (prediction.best_logprob >= np.log(OVERRULE)))
