"""Single forward passes. Blocks of them are spread over the run, so that slow and fast phases of a machine count."""

from typing import cast

from infill_engine.diagnostics.benchmark.suites.running import Run, Unit
from infill_engine.diagnostics.costs import lines, step
from infill_engine.models.base import CanvasModel
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.sampling.tree_sampler import timed_pass

ROWS = (1, 8, 16, 32)
RUNS = 3  # of each size in a block
CANVAS = (4, 16)  # rows and slots of a denoising step


def pass_units(run: Run) -> list[Unit]:
    """One unit for each block of passes of the main model."""
    return [Unit(f"passes {block}/{run.plan.pass_blocks}", 1.5, lambda: _block(run)) for block in _blocks(run)]


def _blocks(run: Run) -> range:
    return range(1, run.plan.pass_blocks + 1)


def _block(run: Run) -> None:
    model = run.engine(run.main).model
    if isinstance(model, TrunkModel):
        timed_pass(model, ROWS[0])
        for _ in range(RUNS):
            for rows in ROWS:
                run.results.add("pass", model=run.main, rows=rows, ms=round(timed_pass(model, rows), 3))
        return
    family = cast(CanvasModel, model)
    rows, slots = CANVAS
    for _ in range(RUNS):
        cost = step(family, (lines(0, 24) + "result = ", "\nprint(result)\n"), rows, slots, runs=1)
        run.results.add("pass", model=run.main, rows=rows * slots, ms=round(cost.ms, 3))
