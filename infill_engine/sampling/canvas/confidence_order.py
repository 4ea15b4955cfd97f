"""The order of models that may decide any slot: the most confident slots first, and wrong ones are reopened.

`ConfidenceOrder` is also the interface of the other two orders, which override what differs.
"""

import numpy as np
from numpy.typing import NDArray

from infill_engine.models.canvas.canvas import Canvas, State
from infill_engine.sampling.canvas.constraints import Constraints
from infill_engine.sampling.canvas.prediction import Prediction
from infill_engine.settings import SamplerSettings

Ints = NDArray[np.int64]


class ConfidenceOrder:
    """Decide all slots at once, by confidence. Positions are flat, in the canvas."""

    def __init__(self, canvas: Canvas, settings: SamplerSettings) -> None:
        self.canvas, self.settings = canvas, settings

    @property
    def most_steps(self) -> int:
        """Return the number of steps after which the canvas must be decided."""
        return self.settings.max_steps

    def wanted(self, steps_left: int) -> Ints:
        """Return the positions whose logits a step needs: open slots, drafts, and slots that may be reopened.

        Slots are reopened only in unfinished rows, and not in the last step.
        """
        canvas = self.canvas
        undecided = (canvas.state == State.OPEN) | (canvas.state == State.DRAFT)
        unfinished = np.zeros(canvas.rows, bool)
        unfinished[canvas.row[undecided]] = True
        doubtful = (canvas.state == State.COMMITTED) & unfinished[canvas.row]
        return np.flatnonzero(undecided | doubtful if steps_left > 1 else undecided)

    def prepare(self, wanted: Ints) -> None:
        """Prepare the slots that a step is about to decide."""

    def decided(self, constraints: Constraints) -> None:
        """Correct the canvas after a step has decided slots, before the constraints see it."""

    def converge(self, wanted: Ints, prediction: Prediction, constraints: Constraints, branches: Ints) -> None:
        """Close the rows that are done after a step. `branches` are the positions where a row took a branch."""
