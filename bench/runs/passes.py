"""Single forward passes of a loaded model on one thread, in many short turns. Each turn has every size once."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count

import numpy as np

from bench.runs.one_thread import on_one_thread
from bench.runs.reference import Reference, spent
from infill_engine.budget.deadline import now, since
from infill_engine.budget.work import finished
from infill_engine.diagnostics.benchmark.results import Record
from infill_engine.models.base import CanvasModel
from infill_engine.models.canvas.canvas import lay_out
from infill_engine.models.trunk.model import TrunkModel

FEWEST = 12  # turns
ROWS = (1, 8, 16, 32)
CANVAS = (4, 16)  # rows and slots of a denoising step
LINES = 24  # above the canvas


def measure_passes(model: TrunkModel | CanvasModel, seconds: float) -> Iterator[Record]:
    """Yield the time of each pass with that of the fixed calculation beside its turn, for so long, or FEWEST turns."""
    with on_one_thread():
        prepare, sizes = prepared(model)
        for rows in sizes:
            prepare(rows)()  # the first one compiles
        reference, began = Reference(), now()
        for turn in count():
            if turn >= FEWEST and since(began) > 1000 * seconds:
                return
            costs = {rows: spent(model.device, prepare(rows)) for rows in sizes}
            beside = reference.since_last()
            for rows, cost in costs.items():
                yield {
                    "turn": turn,
                    "rows": rows,
                    "ms": round(cost.ms, 3),
                    "cpu_ms": round(cost.cpu_ms, 3),
                    "reference_ms": round(beside, 3),
                }


def prepared(model: TrunkModel | CanvasModel) -> tuple[Callable[[int], Callable[[], object]], tuple[int, ...]]:
    """Return what prepares a pass over so many rows, and the sizes to measure."""
    if isinstance(model, TrunkModel):
        run_pass = model.separate_pass()
        return (lambda rows: partial(run_pass, rows)), ROWS
    rows, slots = CANVAS
    step = _prepared_step(model, rows, slots)
    return (lambda _: step), (rows * slots,)


def _prepared_step(model: CanvasModel, rows: int, slots: int) -> Callable[[], object]:
    """Return a step over open rows after its context has been read."""
    above = "".join(f"value_{number} = compute(first, second, {number})\n" for number in range(LINES))
    context = finished(model.encode(above + "result = ", "\nprint(result)\n"))
    canvas = lay_out([slots] * rows, model.info.mask_id)
    return partial(model.denoise, context, canvas, np.arange(canvas.slots))
