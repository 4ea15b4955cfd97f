"""The order of models whose open slots hold noise and that predict whole rows repeatedly: nothing stays decided.

Every step predicts all slots again, keeps the confident ones and draws new noise for the others. A row is done when it
has converged: two consecutive steps predicted the same tokens, the last one with low entropy.
"""

import numpy as np

from infill_engine.models.canvas.canvas import Canvas, State
from infill_engine.sampling.canvas.confidence_order import ConfidenceOrder, Ints
from infill_engine.sampling.canvas.constraints import Constraints
from infill_engine.sampling.canvas.prediction import Prediction
from infill_engine.settings import SamplerSettings


class UniformNoise(ConfidenceOrder):
    """Predict all slots in every step, until the rows have converged.

    Only predicted slots count. Given slots have no entropy and never change, so counting them would make a row look
    converged as soon as most of it is given.
    """

    def __init__(self, canvas: Canvas, settings: SamplerSettings) -> None:
        super().__init__(canvas, settings)
        self._converged = np.zeros(canvas.rows, bool)
        self._predicted = np.full(canvas.slots, -1)

    def wanted(self, steps_left: int) -> Ints:  # noqa: ARG002
        """Return all slots that are not given, in rows that have not converged."""
        return np.flatnonzero((self.canvas.state != State.FIXED) & ~self._converged[self.canvas.row])

    def prepare(self, wanted: Ints) -> None:
        """Reopen slots that an earlier step decided."""
        decided = wanted[self.canvas.state[wanted] == State.COMMITTED]
        self.canvas.state[decided] = State.OPEN

    def converge(self, wanted: Ints, prediction: Prediction, constraints: Constraints, branches: Ints) -> None:
        """Commit the rows that converged in this step, and fix the slots where a row took a branch."""
        canvas = self.canvas
        canvas.state[branches] = State.FIXED  # otherwise the next step would undo the branch
        pending = {int(canvas.row[position]) for position in constraints.starts}
        rows = canvas.row[wanted]
        for row in np.unique(rows).tolist():
            members = np.flatnonzero(rows == row)
            positions = wanted[members]
            same = np.array_equal(self._predicted[positions], prediction.best[members])
            if same and row not in pending and prediction.entropy[members].mean() < self.settings.converged:
                self._converged[row] = True
                free = canvas.state[positions] != State.FIXED  # the beginning of a word may just have been fixed
                canvas.ids[positions[free]] = prediction.best[members[free]]
                canvas.logprob[positions[free]] = prediction.best_logprob[members[free]]
                canvas.state[positions[free]] = State.COMMITTED
        self._predicted[wanted] = prediction.best
