"""Processes that are replaced. Each loads the model, measures passes and answers for a while.

Where a process puts its weights in memory changes the speed of all its passes. So two runs are compared by their
processes, and these are spread over each run. They are spawned, so they inherit nothing of this one.
"""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context

from bench.runs.drift import cycle, generations
from bench.runs.passes import measure_passes
from infill_engine.diagnostics.benchmark.problems.problem_files import Problem
from infill_engine.diagnostics.benchmark.results import Record
from infill_engine.diagnostics.benchmark.running import LoadEngine, Run, Unit
from infill_engine.errors import ModelError
from infill_engine.sampling.canvas.canvas_sampler import CanvasSampler
from infill_engine.sampling.trunk.tree_sampler import TreeSampler

PROCESSES = 6
PASS_SECONDS = 2.0
LIFE = 10  # generations after the passes
SECONDS = 13.0  # of a process, approximately


def process_units(run: Run) -> list[Unit]:
    """Return one unit for each process."""
    return [
        Unit(f"process {number + 1}/{PROCESSES}", SECONDS, partial(_process, run, number))
        for number in range(PROCESSES)
    ]


def _process(run: Run, number: int) -> None:
    (model, *_), numbers = run.models, range(number * LIFE, (number + 1) * LIFE)
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        try:
            passes, answers = pool.submit(_live, run.load, model, PASS_SECONDS, cycle(run.problems), numbers).result()
        except BrokenProcessPool as error:
            raise ModelError(f"the process that measured passes and drift ended: {error}") from error
    for line in passes:
        run.results.add("pass", model=model, process=number, **line)
    for line in answers:
        run.results.add("generation", model=model, recycled=True, **line)


def _live(
    load: LoadEngine, model: str, pass_seconds: float, problems: Sequence[Problem], numbers: range
) -> tuple[list[Record], list[Record]]:
    engine = load(model)
    assert isinstance(engine.proposer, TreeSampler | CanvasSampler)
    passes = list(measure_passes(engine.proposer.model, pass_seconds))
    return passes, list(generations(engine, problems, numbers))
