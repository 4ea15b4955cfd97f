"""What open slots contain when the model sees them."""

import numpy as np

from infill_engine.models.canvas.canvas import Canvas, State


class Corruptor:
    """Fills open slots with a fixed token, or with tokens drawn anew at random from `width` every time.

    Each row has its own seed, so its contents do not depend on the other rows.
    """

    def __init__(self, token: int | None, width: int, rows: int, seed: int) -> None:
        self._token = token
        self._width = width
        self._random = [np.random.default_rng([seed, row]) for row in range(rows)] if token is None else []

    def fill(self, canvas: Canvas) -> None:
        """Fill every open slot of `canvas` for the next step."""
        is_open = canvas.state == State.OPEN
        if self._token is not None:
            canvas.ids[is_open] = self._token
        for row, random in enumerate(self._random):
            span = canvas.span(row)
            drawn = random.integers(self._width, size=span.stop - span.start)
            canvas.ids[span] = np.where(is_open[span], drawn, canvas.ids[span])
