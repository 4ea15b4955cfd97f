"""Decides when a row has converged, for models whose open slots hold noise and that predict whole rows repeatedly."""

import numpy as np
from numpy.typing import NDArray

from infill_engine.models.canvas.canvas import Canvas, State
from infill_engine.sampling.denoising.constraints import Constraints
from infill_engine.sampling.prediction import Prediction
from infill_engine.settings import SamplerSettings

Ints = NDArray[np.int64]


class Convergence:
    """Which rows have settled: two consecutive steps predicted the same tokens, the last one with low entropy.

    Only predicted slots count. Given slots have no entropy and never change, so counting them would make a row look
    settled as soon as most of it is given.
    """

    def __init__(self, canvas: Canvas, settings: SamplerSettings) -> None:
        self._settled = np.zeros(canvas.rows, bool)
        self._predicted = np.full(canvas.slots, -1)
        self._most_entropy = settings.converged

    def wanted(self, canvas: Canvas) -> Ints:
        """Flat positions to predict in the next step: all slots that are not given, in rows that have not settled."""
        return np.flatnonzero((canvas.state != State.FIXED) & ~self._settled[canvas.row])

    def reopen(self, canvas: Canvas, wanted: Ints) -> None:
        """Reopens slots that an earlier step decided."""
        decided = wanted[canvas.state[wanted] == State.COMMITTED]
        canvas.state[decided] = State.OPEN

    def settle(
        self, canvas: Canvas, wanted: Ints, prediction: Prediction, constraints: Constraints, branches: Ints
    ) -> None:
        """Commits the rows that settled in this step, and fixes the slots where a row took a branch."""
        canvas.state[branches] = State.FIXED  # otherwise the next step would undo the branch
        pending = {int(canvas.row[position]) for position in constraints.starts}
        rows = canvas.row[wanted]
        for row in np.unique(rows).tolist():
            members = np.flatnonzero(rows == row)
            positions = wanted[members]
            same = np.array_equal(self._predicted[positions], prediction.best[members])
            if same and row not in pending and prediction.entropy[members].mean() < self._most_entropy:
                self._settled[row] = True
                free = canvas.state[positions] != State.FIXED  # the beginning of a word may just have been fixed
                canvas.ids[positions[free]] = prediction.best[members[free]]
                canvas.logprob[positions[free]] = prediction.best_logprob[members[free]]
                canvas.state[positions[free]] = State.COMMITTED
        self._predicted[wanted] = prediction.best
