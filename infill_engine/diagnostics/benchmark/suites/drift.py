"""Hundreds of generations in one process: whether passes become slower and memory grows."""

import psutil

from infill_engine.diagnostics.benchmark.suites.running import Run, Unit
from infill_engine.diagnostics.benchmark.systems.answered import Setting
from infill_engine.diagnostics.benchmark.systems.served import MODEL_ALONE

CYCLE = 10  # problems that are repeated
LIMIT = Setting(4, passes=2)  # the same work every time, however long it takes


def drift_units(run: Run) -> list[Unit]:
    """One unit: a series must not be interrupted."""
    return [Unit("drift", 0.25 * run.plan.generations, lambda: _generate(run))]


def _generate(run: Run) -> None:
    system = run.system(run.main, MODEL_ALONE)
    own = psutil.Process()
    problems = run.problems[:: max(1, len(run.problems) // CYCLE)][:CYCLE]
    for number in range(run.plan.generations):
        problem = problems[number % len(problems)]
        answered = system.answer(problem, LIMIT)
        run.results.add(
            "generation",
            model=run.main,
            number=number,
            problem=problem.id,
            ms=round(answered.ms, 3),
            pass_ms=round(sum(piece.ms for piece in answered.passes), 3),
            passes=len(answered.passes),
            resident_mb=round(own.memory_info().rss / 1e6, 2),
        )
