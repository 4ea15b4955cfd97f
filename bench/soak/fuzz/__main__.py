"""A million odd inputs: frames for the engine, messages for the server, edits of documents.

    python -m bench.soak.fuzz --inputs 1000000 --seed 1 --out bench/results/soak/fuzz-summary.json

Seven tenths of the inputs are frames, a tenth are messages, and two tenths edits. An input that fails is named by its
kind, seed and number, and is not the last. Exits with 1 if there was one.
"""

import argparse
import itertools
import json
import sys
import traceback
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.soak.fuzz.documents import DocumentFuzz
from bench.soak.fuzz.frames import Frames
from bench.soak.fuzz.wire import WireFuzz

SHARES = {"frames": 0.7, "messages": 0.1, "edits": 0.2}
BATCH = 5_000  # inputs of one seed
MOST_FAULTS = 20


def main() -> int:
    """Run the command line. Return its exit status."""
    options = _parser().parse_args()
    summary: dict[str, Any] = {"seed": options.seed}
    for kind, share in SHARES.items():
        summary[kind] = run(kind, round(share * options.inputs), options.seed)
        print(kind, json.dumps(summary[kind]), file=sys.stderr, flush=True)
    summary["inputs"] = sum(summary[kind]["inputs"] for kind in SHARES)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(summary, indent=1) + "\n")
    print(json.dumps(summary))
    return int(any(summary[kind]["faults"] for kind in SHARES))


def run(kind: str, inputs: int, seed: int) -> dict[str, Any]:
    """Feed so many inputs of a kind. Return counts and the faults."""
    began, done, faults = perf_counter(), 0, list[str]()
    counted = {"decoded": 0, "requests": 0}
    for batch in itertools.count(seed * 1_000_000):
        if done >= inputs or len(faults) >= MOST_FAULTS:
            break
        fuzz = _make(kind, batch)
        for number in range(min(BATCH, inputs - done)):
            done += 1
            try:
                fuzz.once()
            except Exception as fault:
                frame = traceback.extract_tb(fault.__traceback__)[-1]
                faults.append(f"{kind} {batch}/{number}: {type(fault).__name__} {fault} ({frame.name}:{frame.lineno})")
                break
        if isinstance(fuzz, Frames):
            counted["decoded"] += fuzz.taken
        else:
            counted["requests"] += getattr(fuzz, "requests", 0)
            fuzz.close()
    seconds = round(perf_counter() - began, 1)
    return {"inputs": done, "seconds": seconds, **{name: n for name, n in counted.items() if n}, "faults": faults}


def _make(kind: str, seed: int) -> Frames | WireFuzz | DocumentFuzz:
    if kind == "frames":
        return Frames(seed)
    return WireFuzz(seed) if kind == "messages" else DocumentFuzz(seed)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.soak.fuzz", description="Odd input, in process.")
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="file for the summary")
    return parser


if __name__ == "__main__":
    sys.exit(main())
