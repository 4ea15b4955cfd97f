"""Hundreds of generations: whether passes become slower and memory grows.

Once in one process, and once in processes that are replaced after so many generations.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

import psutil

from infill_engine.diagnostics.benchmark.problems.loading import Problem
from infill_engine.diagnostics.benchmark.results import Record
from infill_engine.diagnostics.benchmark.suites.running import Load, Run, Unit
from infill_engine.diagnostics.benchmark.systems.answered import Setting, System
from infill_engine.diagnostics.benchmark.systems.served import MODEL_ALONE, Served
from infill_engine.errors import ModelError
from infill_engine.settings import EngineSettings

CYCLE = 10  # problems that are repeated
LIMIT = Setting(4, passes=2)  # the same work every time, however long it takes
SECONDS, LOAD_SECONDS = 0.25, 8.0  # of a generation, and of a process before its first one


def drift_units(run: Run) -> list[Unit]:
    """One unit for each series, because a series must not be interrupted."""
    own, recycled, life = run.plan.generations, run.plan.recycled, run.plan.life
    seconds = SECONDS * recycled + LOAD_SECONDS * len(range(0, recycled, life))
    units = [
        (own, Unit("drift", SECONDS * own, lambda: _one_process(run))),
        (recycled, Unit("drift with recycled processes", seconds, lambda: _recycled(run))),
    ]
    return [unit for count, unit in units if count]


def _one_process(run: Run) -> None:
    system = run.system(run.main, MODEL_ALONE)
    for line in _generations(system, _problems(run), range(run.plan.generations)):
        run.results.add("generation", model=run.main, recycled=False, **line)


def _recycled(run: Run) -> None:
    """Each process loads the model and answers `life` times. It is spawned, so it inherits nothing of this one."""
    count, life = run.plan.recycled, run.plan.life
    for first in range(0, count, life):
        numbers = range(first, min(count, first + life))
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            try:
                lines = pool.submit(_one_life, run.load, run.main, _problems(run), numbers).result()
            except BrokenProcessPool as error:
                raise ModelError(f"the process for generation {first} and those after it ended: {error}") from error
        for line in lines:
            run.results.add("generation", model=run.main, recycled=True, **line)


def _one_life(load: Load, model: str, problems: Sequence[Problem], numbers: range) -> list[Record]:
    return list(_generations(Served(load(model, EngineSettings()), drafts=False), problems, numbers))


def _generations(system: System, problems: Sequence[Problem], numbers: range) -> Iterator[Record]:
    own = psutil.Process()
    for number in numbers:
        problem = problems[number % len(problems)]
        answered = system.answer(problem, LIMIT)
        yield {
            "number": number,
            "process": os.getpid(),
            "problem": problem.id,
            "ms": round(answered.ms, 3),
            "pass_ms": round(sum(piece.ms for piece in answered.passes), 3),
            "passes": len(answered.passes),
            "resident_mb": round(own.memory_info().rss / 1e6, 2),
        }


def _problems(run: Run) -> tuple[Problem, ...]:
    return run.problems[:: max(1, len(run.problems) // CYCLE)][:CYCLE]
