"""Breaks down a request's milliseconds in the engine, without a server around it.

    python -m bench.latency.engine [--model default] [--keystrokes 200] [--lines 200] [--budget-ms 150]

Types real code into a document and answers after every keystroke, in one process. Measures the server's work before the
request (applying the change, building the request), then the engine's encoding, denoising, and the rest (cleaning and
ranking). The last line is one JSON object; times are in milliseconds.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter

from bench.replay.keystrokes import Keystroke, Replay, make_replay
from bench.replay.sources import SourceFile, standard_library
from bench.sources import read_packages
from bench.spread import spread
from infill_engine.budget.deadline import Deadline
from infill_engine.budget.work import PassState
from infill_engine.engine.engine import Engine
from infill_engine.engine.engine_loading import load_engine
from infill_engine.errors import InfillError
from infill_engine.sampling.canvas.denoise import Step
from infill_engine.sampling.trunk.tree_nodes import TreeStep
from infill_engine.types import InfillRequest
from lsp_server.documents.snapshots import Documents, TextChange
from lsp_server.settings.schema import ServerSettings
from lsp_server.suggestions.request_content import build_request

URI = "file:///bench/typed.py"
FIELDS = ("change_ms", "build_ms", "read_ms", "compute_ms", "rank_ms", "engine_ms")


@dataclass(frozen=True, slots=True)
class Timing:
    """One keystroke. `rank_ms` is engine time outside encoding and denoising: drafts, cleaning, ranking."""

    stroke: str
    change_ms: float
    build_ms: float
    read_ms: float
    compute_ms: float
    rank_ms: float
    engine_ms: float
    cached: bool
    steps: int
    slots: int  # of the canvas, summed over its rows
    candidates: int
    reason: str


def main() -> int:
    options = _options()
    try:
        files = sources_of(options.source)
        replay = make_replay(files, options.lines, options.keystrokes, options.seed)
        started = perf_counter()
        engine = load_engine(options.model, device=options.device)
    except InfillError as fault:
        print(fault, file=sys.stderr)
        return 2
    print(f"model {options.model} on {engine.device} ({engine.profile}), loaded in {perf_counter() - started:.1f} s")
    timings = list(replay_through(engine, replay, options.budget_ms, options.candidates))
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text("".join(json.dumps(asdict(timing)) + "\n" for timing in timings))
    report(timings, options.budget_ms)
    return 0


def sources_of(folder: Path | None) -> list[SourceFile]:
    """Return the packages in `folder`, or the standard library for None. Raises InputError for an empty folder."""
    return read_packages(folder) if folder else standard_library()


def replay_through(engine: Engine, replay: Replay, budget_ms: float, candidates: int) -> Iterator[Timing]:
    """Type the replay and time the answer to each keystroke."""
    documents = Documents()
    documents.open(URI, "python", replay.text)
    settings = ServerSettings(candidates=candidates)
    for key in replay.keystrokes:
        began = perf_counter()
        start = (key.row, key.column)
        snapshot = documents.change(URI, TextChange(key.text, start, (key.row, key.column + key.removed))).after
        changed = perf_counter()
        request = build_request(snapshot, key.cursor, settings)
        built = perf_counter()
        yield _timed(engine, request, key, budget_ms, 1000 * (changed - began), 1000 * (built - changed))


def report(timings: list[Timing], budget_ms: float) -> None:
    """Print the breakdown of fresh and of cached answers, and one JSON line."""
    fresh = [timing for timing in timings if not timing.cached]
    print(f"{len(timings)} keystrokes, {len(fresh)} answered by the model, {len(timings) - len(fresh)} from the cache")
    print(f"{'fresh answers, ms':20}" + "".join(f"{name:>9}" for name in ("p50", "p95", "p99", "max")))
    parts = {name: spread([getattr(timing, name) for timing in fresh]) for name in FIELDS}
    for name, numbers in parts.items():
        print(f"{name:20}" + "".join(f"{numbers[share]:9.2f}" for share in ("p50", "p95", "p99", "max")))
    print(
        json.dumps(
            {
                "n": len(timings),
                "fresh": parts,
                "cached": spread([timing.engine_ms for timing in timings if timing.cached]),
                "steps": spread([timing.steps for timing in fresh]),
                "slots": spread([timing.slots for timing in fresh]),
                "silent": sum(1 for timing in timings if not timing.candidates),
                "late": sum(1 for timing in timings if timing.engine_ms > budget_ms),
                "budget_ms": budget_ms,
            }
        )
    )


def _timed(
    engine: Engine, request: InfillRequest, key: Keystroke, budget_ms: float, change_ms: float, build_ms: float
) -> Timing:
    slots = steps = 0

    def observe(after: PassState) -> None:
        nonlocal slots, steps
        if isinstance(after.state, Step):
            slots, steps = after.state.canvas.slots, after.state.number
        elif isinstance(after.state, TreeStep):
            steps = after.state.number

    answer = engine.answer(request, Deadline.after_ms(budget_ms), observe)
    return Timing(
        stroke=key.stroke.value,
        change_ms=round(change_ms, 3),
        build_ms=round(build_ms, 3),
        read_ms=round(answer.read_ms, 3),
        compute_ms=round(answer.compute_ms, 3),
        rank_ms=round(answer.elapsed_ms - answer.read_ms - answer.compute_ms, 3),
        engine_ms=round(answer.elapsed_ms, 3),
        cached=answer.cached,
        steps=steps,
        slots=slots,
        candidates=len(answer.candidates),
        reason="" if answer.reason is None else answer.reason.value,
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.latency.engine", description="Times the engine's parts.")
    parser.add_argument("--model", default="default")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--keystrokes", type=int, default=200)
    parser.add_argument("--lines", type=int, default=200, help="of the document that is typed into")
    parser.add_argument("--budget-ms", type=float, default=150)
    parser.add_argument("--candidates", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--source", type=Path, help="folder of wheels whose code is typed; else the standard library")
    parser.add_argument("--out", type=Path, help="where to write one JSON line for each keystroke")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
