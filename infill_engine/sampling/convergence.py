"""When a row is done that is predicted as a whole, again and again, because its open slots hold noise."""

import numpy as np
from numpy.typing import NDArray

from infill_engine.canvas.canvas import Canvas, State
from infill_engine.sampling.constraints import Constraints
from infill_engine.sampling.prediction import Prediction
from infill_engine.settings import SamplerSettings

Ints = NDArray[np.int64]


class Convergence:
    """Which rows have settled: two steps in a row predicted the same for them, the last one without a doubt.

    Only slots that are predicted count. What is given has no entropy and never changes, so counting it would make a row
    look settled as soon as much of it is given.
    """

    def __init__(self, canvas: Canvas, settings: SamplerSettings) -> None:
        self._settled = np.zeros(canvas.rows, bool)
        self._predicted = np.full(canvas.slots, -1)
        self._most_entropy = settings.converged

    def wanted(self, canvas: Canvas) -> Ints:
        """Flat positions to predict in the next step: all that is not given in the rows that have not settled."""
        return np.flatnonzero((canvas.state != State.FIXED) & ~self._settled[canvas.row])

    def reopen(self, canvas: Canvas, wanted: Ints) -> None:
        """Makes undecided again what an earlier step decided."""
        decided = wanted[canvas.state[wanted] == State.COMMITTED]
        canvas.state[decided] = State.OPEN

    def settle(
        self, canvas: Canvas, wanted: Ints, prediction: Prediction, constraints: Constraints, branches: Ints
    ) -> None:
        """Decides the rows that have settled in this step, and for good the slots where a row took a branch."""
        canvas.state[branches] = State.FIXED  # or the next step would take it back
        pending = {int(canvas.row[position]) for position in constraints.starts}
        rows = canvas.row[wanted]
        for row in np.unique(rows).tolist():
            members = np.flatnonzero(rows == row)
            positions = wanted[members]
            same = np.array_equal(self._predicted[positions], prediction.best[members])
            if same and row not in pending and prediction.entropy[members].mean() < self._most_entropy:
                self._settled[row] = True
                free = canvas.state[positions] != State.FIXED  # a word's beginning may just have been decided for good
                canvas.ids[positions[free]] = prediction.best[members[free]]
                canvas.logprob[positions[free]] = prediction.best_logprob[members[free]]
                canvas.state[positions[free]] = State.COMMITTED
        self._predicted[wanted] = prediction.best
