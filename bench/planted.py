"""Whether the benchmark finds what was planted, and nothing where nothing was: on real passes of a model.

    python -m bench.planted --model small --out bench/results/planted.jsonl

Each repetition measures the passes of the quick suite twice, in as many processes: once slowed down by SLOWER, and once
as they are. Then it measures the drift of the quick suite with and without a planted GROWTH in one process,
and with it in processes that are replaced. A pass is slowed by computing on (a busy wait) for that share of its own
processor time.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from bench.json_lines import write_lines
from infill_engine.diagnostics.benchmark.comparison import CLOCK_TIME, PROCESSOR_TIME, compare
from infill_engine.diagnostics.benchmark.machine import describe_machine, describe_software, doubts
from infill_engine.diagnostics.benchmark.problems.loading import load_problems
from infill_engine.diagnostics.benchmark.results import Results
from infill_engine.diagnostics.benchmark.speed import drift
from infill_engine.diagnostics.benchmark.suites.drift import drift_units
from infill_engine.diagnostics.benchmark.suites.plan import QUICK
from infill_engine.diagnostics.benchmark.suites.processes import process_units
from infill_engine.diagnostics.benchmark.suites.running import Run
from infill_engine.errors import InfillError, InputError
from infill_engine.models.small.model import SmallModel
from infill_engine.serving.loading import load_local, set_threads
from infill_engine.settings import EngineSettings

if TYPE_CHECKING:
    from infill_engine.engine.local import LocalEngine

SLOWER = 0.10  # share of a pass
GROWTH = 0.001  # share of a pass, for each generation: 1 % per 10
PARTS = ("passes", "drift")
FOUND = 0.01  # the probability below which a planted difference counts as found

RAW = {
    "pass": ("unit", "rows", "ms", "cpu_ms", "reference_ms"),
    "generation": ("recycled", "process", "problem", "ms", "passes", "probe_cpu_ms", "reference_ms"),
}
SERIES = ("no drift", "planted drift", "planted drift, recycled")

T = TypeVar("T")
Row = dict[str, Any]


def main() -> int:
    """Run the command line. Return its exit status."""
    options = _parser().parse_args()
    set_threads()
    rows: list[Row] = []
    header = {"what": "run", "model": options.model, "machine": describe_machine(), **describe_software()}
    header |= {"doubts": doubts(), "slower": SLOWER, "growth": GROWTH, "pause_seconds": options.pause}
    try:
        for row in measure(options.model, options.repetitions, options.pause, options.only):
            rows.append(row)
            write_lines([header, *rows, summary(rows)], options.out)  # a run that is cut off leaves its results
            print(json.dumps({key: value for key, value in row.items() if key != "raw"}), flush=True)
    except InfillError as fault:
        print(fault, file=sys.stderr)
        return 1
    print(json.dumps(summary(rows)))
    return 0


def measure(model: str, repetitions: int, pause: float, parts: Sequence[str] = PARTS) -> Iterator[Row]:
    """Yield one row for each comparison and each series. Each run of one build is compared with the one before it."""
    plain, slowed, growing = (partial(load_planted, *each) for each in ((0.0, 0.0), (SLOWER, 0.0), (0.0, GROWTH)))
    before = _passes(_run(model, plain), pause) if "passes" in parts else None
    for number in range(repetitions):
        if before is not None:
            slower, again = _passes(_run(model, slowed), pause), _passes(_run(model, plain), pause)
            yield {"what": "slowed passes", "repetition": number, **compared(before, slower)}
            yield {"what": "one build", "repetition": number, **compared(before, again)}
            before = again
        for what, load in (("no drift", plain), ("planted drift", growing)) if "drift" in parts else ():
            results = _drift(_run(model, load), recycled=load is growing)
            yield {"what": what, "repetition": number, **drifting(results, recycled=False)}
            if load is growing:
                yield {"what": f"{what}, recycled", "repetition": number, **drifting(results, recycled=True)}


def compared(before: Results, after: Results) -> Row:
    """Return how two runs' passes differ, as `infill-ls bench compare` says it, with the raw times."""
    estimates = {each.what: _rounded(asdict(each.estimate)) for each in compare(before, after)}
    return {"estimates": estimates, "raw": [_raw(run, "pass") for run in (before, after)]}


def drifting(results: Results, *, recycled: bool) -> Row:
    """Return the slope of a series per 100 generations, as the report has it, with the series."""
    found = drift(results, recycled=recycled)
    assert found is not None
    return {"estimate": _rounded(asdict(found.slower)), "found": found.is_found, "raw": _raw(results, "generation")}


def summary(rows: list[Row]) -> Row:
    """Return how often what was planted was found, and how often nothing was found where nothing was."""
    same, slowed = (
        [row["estimates"] for row in rows if row["what"] == what] for what in ("one build", "slowed passes")
    )
    series = {what: [row["found"] for row in rows if row["what"] == what] for what in SERIES}
    result: Row = {"what": "summary", "repetitions": len(same)}
    for measure in (PROCESSOR_TIME, CLOCK_TIME):
        inside = [each[measure]["low"] <= 1 <= each[measure]["high"] for each in same if measure in each]
        found = [each[measure]["p"] < FOUND and each[measure]["value"] > 1 for each in slowed if measure in each]
        result |= {f"one build within its interval, {measure}": sum(inside), f"slowed, {measure}: found": sum(found)}
    return result | {f"{what}: drift found": sum(found) for what, found in series.items()}


def load_planted(slower: float, growth: float, model: str, settings: EngineSettings) -> "LocalEngine":
    """Load a model whose passes are slower by `slower`, and by `growth` more after each answer. Raises InputError."""
    engine = load_local(model, "cpu", settings)
    if not isinstance(engine.model, SmallModel):
        raise InputError(f"the passes of {model} cannot be slowed down here; give --model small")
    planted, backend = Planted(slower, growth), engine.model.backend
    engine.fresh = planted.counted(engine.fresh)  # type: ignore[method-assign]
    for passes in ("canvas_logits", "tree_logprobs"):
        setattr(backend, passes, planted.prolonged(getattr(backend, passes)))
    setattr(backend, "writer", planted.prolonged_writer(backend.writer))  # noqa: B010  (a protocol has no such field)
    return engine


@dataclass(slots=True)
class Planted:
    """A slowdown that grows with each answer. Shares of a pass."""

    slower: float
    growth: float
    clock: Callable[[], float] = time.thread_time
    answered: int = 0

    def counted(self, answer: Callable[..., T]) -> Callable[..., T]:
        """`answer`, which counts."""

        def run(*arguments: Any, **named: Any) -> T:
            self.answered += 1
            return answer(*arguments, **named)

        return run

    def prolonged(self, work: Callable[..., T]) -> Callable[..., T]:
        """`work`, which takes longer."""

        def run(*arguments: Any, **named: Any) -> T:
            began = self.clock()
            result = work(*arguments, **named)
            self._go_on(began)
            return result

        return run

    def prolonged_writer(self, make: Callable[..., Any]) -> Callable[..., Any]:
        """`make`, whose writer takes longer for each of its passes."""

        def run(*arguments: Any, **named: Any) -> Any:
            writer = make(*arguments, **named)
            writer.first, writer.after = self.prolonged(writer.first), self.prolonged(writer.after)
            return writer

        return run

    def _go_on(self, began: float) -> None:
        """Compute for the planted share of the time since `began`."""
        share = self.slower + self.growth * self.answered
        until = self.clock() + share * (self.clock() - began)
        while self.clock() < until:
            pass


def _run(model: str, load: Callable[[str, EngineSettings], "LocalEngine"]) -> Run:
    return Run(QUICK, (model,), load_problems(), _results(), load)


def _results() -> Results:
    return Results(Path(), {"machine": {"processor": ""}, "problems": ""})


def _passes(run: Run, pause: float) -> Results:
    run.results = _results()
    for unit in process_units(run, answers=False):
        time.sleep(pause)
        run.measure(unit)
    return run.results


def _drift(run: Run, *, recycled: bool) -> Results:
    for unit in (*drift_units(run), *(process_units(run, passes=False) if recycled else ())):
        run.measure(unit)
    return run.results


def _raw(results: Results, record: str) -> list[list[Any]]:
    return [[line.get(name) for name in RAW[record]] for line in results.of(record)]


def _rounded(values: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 5) for name, value in values.items()}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.planted", description=__doc__)
    parser.add_argument("--model", default="small", help="the small model, or another folder of its kind (%(default)s)")
    parser.add_argument("--repetitions", type=int, default=10, metavar="N", help="of everything (%(default)s)")
    parser.add_argument(
        "--pause", type=float, default=1.0, metavar="S", help="seconds before each process (%(default)s)"
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART", help="passes, drift (both)")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the raw results, as JSON lines")
    return parser


if __name__ == "__main__":
    sys.exit(main())
