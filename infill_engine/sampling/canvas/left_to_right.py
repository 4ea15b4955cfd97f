"""The order of models that generate from left to right: the first open slot of each row, one a step."""

import numpy as np

from infill_engine.models.canvas.canvas import State
from infill_engine.sampling.canvas.confidence_order import ConfidenceOrder, Ints
from infill_engine.sampling.canvas.constraints import Constraints


class LeftToRight(ConfidenceOrder):
    """Decide each row's first open slot. A row is done at its first end token."""

    @property
    def most_steps(self) -> int:
        """See `ConfidenceOrder`."""
        return int(self.canvas.lengths.max(initial=0))

    def wanted(self, steps_left: int) -> Ints:  # noqa: ARG002
        """Return the first open slot of each row, and the drafts before it, which one step reads and so verifies."""
        canvas = self.canvas
        is_open = canvas.state == State.OPEN
        opened = np.cumsum(is_open)
        before_row = np.concatenate([[0], opened])[np.cumsum(canvas.lengths) - canvas.lengths]
        number = opened - before_row[canvas.row]  # the number of open slots in the row up to this one
        return np.flatnonzero((is_open & (number == 1)) | ((canvas.state == State.DRAFT) & (number == 0)))

    def decided(self, constraints: Constraints) -> None:
        """Reopen all slots after an open one, since they depend on its token, and end rows at their end token."""
        canvas = self.canvas
        for row in range(canvas.rows):
            span = canvas.span(row)
            ids, state = canvas.ids[span], canvas.state[span]
            is_open = np.flatnonzero(state == State.OPEN)
            decided = int(is_open[0]) if len(is_open) else len(ids)
            ends = np.flatnonzero(constraints.is_last(ids[:decided]))
            rest = np.arange(decided if not len(ends) else int(ends[0]) + 1, len(ids)) + span.start
            rest = rest[canvas.state[rest] != State.FIXED]
            if len(ends):
                canvas.ids[rest], canvas.state[rest], canvas.logprob[rest] = constraints.eos_id, State.COMMITTED, 0.0
            else:
                canvas.state[rest] = State.OPEN
