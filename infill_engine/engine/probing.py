"""A small fixed pass of a model, whose cost shows whether the process has become slower."""

from collections.abc import Callable
from functools import partial
from typing import cast

import numpy as np

from infill_engine.budget.work import finished
from infill_engine.models.base import CanvasModel, Context, Model
from infill_engine.models.canvas.canvas import lay_out
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.types import HoleKind

ROWS = 16  # of the trunk's pass, and slots of a canvas
BEFORE, AFTER = "total = 0\nfor value in values:\n    ", "\nprint(total)\n"


class Prober:
    """Makes passes of one model at a time. The context of a canvas model is read once, because reading is cached."""

    def __init__(self) -> None:
        self._read: tuple[Model, Context] | None = None

    def pass_of(self, model: Model) -> Callable[[], None]:
        """Return a function that runs one pass. It changes nothing that is kept for requests."""
        if isinstance(model, TrunkModel):
            return partial(model.apart(), ROWS)
        canvas_model = cast(CanvasModel, model)
        if self._read is None or self._read[0] is not model:
            self._read = model, finished(canvas_model.encode(BEFORE, AFTER))
        context = self._read[1]

        def one_pass() -> None:
            slots = min(ROWS, model.info.max_slots)
            canvas = lay_out([slots], model.info.mask_id)
            canvas_model.denoise(context, HoleKind.LINE, canvas, np.arange(slots)).numpy(force=True)

        return one_pass

