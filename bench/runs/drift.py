"""Many generations in one process: whether passes become slower.

After each generation, one small pass is timed on one thread. It is the same every time, unlike the generations.
"""

import os
from collections.abc import Iterator, Sequence
from functools import partial

from bench.runs.limited_passes import UNHURRIED_MS, LimitedPasses
from bench.runs.one_thread import on_one_thread
from bench.runs.passes import prepared
from bench.runs.reference import Reference, spent
from infill_engine.budget.deadline import now, since
from infill_engine.diagnostics.benchmark.problems.problem_files import Problem
from infill_engine.diagnostics.benchmark.results import BenchmarkSetting, Record
from infill_engine.diagnostics.benchmark.running import Run, Unit
from infill_engine.engine.engine import Engine

CYCLE = 10  # problems that are repeated
GENERATIONS, MOST_SECONDS = 240, 30.0
FEWEST = 60  # generations, however long they take
SETTING = BenchmarkSetting(4, UNHURRIED_MS)
PASSES = 2  # the same work every time, however long it takes
ATTEMPTS = 3  # of the small pass and of the fixed calculation; the fastest counts, because others were interrupted


def drift_unit(run: Run) -> Unit:
    """Return one unit for the whole series, because it must not be interrupted."""
    return Unit("drift", MOST_SECONDS, partial(_one_process, run))


def _one_process(run: Run) -> None:
    (model, *_), began = run.models, now()
    for line in generations(run.engine(model), cycle(run.problems), range(GENERATIONS)):
        if line["number"] >= FEWEST and since(began) > 1000 * MOST_SECONDS:
            return
        run.results.add("generation", model=model, recycled=False, **line)


def generations(engine: Engine, problems: Sequence[Problem], numbers: range) -> Iterator[Record]:
    """Yield what each answer cost in this process, with the small pass after it and the fixed calculation beside it."""
    system = LimitedPasses(engine, PASSES, drafts=False)
    prepare, sizes = prepared(engine.proposer.model)  # type: ignore[attr-defined]
    reference, small_pass = Reference(), prepare(sizes[0])
    for number in numbers:
        problem = problems[number % len(problems)]
        _, ms = system.answer(problem, SETTING)
        with on_one_thread():
            probe = min(spent(engine.device, small_pass).cpu_ms for _ in range(ATTEMPTS))
            beside = min(reference.since_last() for _ in range(ATTEMPTS))
        yield {
            "number": number,
            "process": os.getpid(),
            "problem": problem.id,
            "ms": round(ms, 3),
            "pass_ms": round(sum(system.costs.pass_ms), 3),
            "passes": len(system.costs.pass_ms),
            "probe_cpu_ms": round(probe, 3),
            "reference_ms": round(beside, 3),
        }


def cycle(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """Return the problems that are repeated: few of them, and of all kinds."""
    return tuple(problems[:: max(1, len(problems) // CYCLE)][:CYCLE])
