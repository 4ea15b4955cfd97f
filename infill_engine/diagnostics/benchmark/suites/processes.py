"""Processes that are replaced. Each loads the model, measures passes and answers for a while.

Where a process puts its weights in memory changes the speed of all its passes. So two runs are compared by their
processes, and these are spread over each run. They are spawned, so they inherit nothing of this one.
"""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context

from infill_engine.diagnostics.benchmark.problems.loading import Problem
from infill_engine.diagnostics.benchmark.results import Record
from infill_engine.diagnostics.benchmark.suites.drift import SECONDS, cycle, generations
from infill_engine.diagnostics.benchmark.suites.passes import measure_passes
from infill_engine.diagnostics.benchmark.suites.running import Load, Run, Unit
from infill_engine.diagnostics.benchmark.systems.served import Served
from infill_engine.errors import ModelError
from infill_engine.settings import EngineSettings

LOAD_SECONDS = 8.0  # of a process before its first measurement


def process_units(run: Run, *, passes: bool = True, answers: bool = True) -> list[Unit]:
    """Return one unit for each process; it measures passes, or answers, or both."""
    pass_seconds, life = run.plan.pass_seconds * passes, run.plan.life * answers
    if not pass_seconds and not life:
        return []
    seconds = LOAD_SECONDS + pass_seconds + SECONDS * life
    count = run.plan.processes
    return [
        Unit(
            f"process {number}/{count}",
            seconds,
            partial(_process, run, pass_seconds, range((number - 1) * life, number * life)),
        )
        for number in range(1, count + 1)
    ]


def _process(run: Run, pass_seconds: float, numbers: range) -> None:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        try:
            passes, answers = pool.submit(
                _live, run.load, run.main, pass_seconds, cycle(run.problems), numbers
            ).result()
        except BrokenProcessPool as error:
            raise ModelError(f"the process that measured passes and drift ended: {error}") from error
    for line in passes:
        run.results.add("pass", model=run.main, **line)
    for line in answers:
        run.results.add("generation", model=run.main, recycled=True, **line)


def _live(
    load: Load, model: str, pass_seconds: float, problems: Sequence[Problem], numbers: range
) -> tuple[list[Record], list[Record]]:
    engine = load(model, EngineSettings())
    passes = list(measure_passes(engine.model, pass_seconds)) if pass_seconds else []
    return passes, list(generations(Served(engine, drafts=False), problems, numbers))
