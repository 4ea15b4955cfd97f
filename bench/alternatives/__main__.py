"""Measures alternatives: faults repaired, the original among the first four, alternatives that break, and time.

    python -m bench.alternatives --packages FOLDER [--model NAME] [--budget MS] [--each N] [--out FILE]

Each case goes the server's way, without the editor: targets at the place, the request, the engine, valid offers. The
last line is JSON.
"""

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.alternatives.faults import Fault, faults_in, parses
from bench.edits.case import Module, same_program
from bench.json_lines import write_lines
from bench.sources import read_packages
from bench.spread import spread
from infill_engine.budget.deadline import Deadline, now
from infill_engine.engine.engine import Engine
from infill_engine.engine.engine_loading import load_engine
from infill_engine.serving.starting import set_threads
from lsp_server.documents.snapshots import Documents
from lsp_server.suggestions.alternatives.offers import applied, valid_offers
from lsp_server.suggestions.alternatives.targets import targets_at
from lsp_server.suggestions.next_edits.bursts import place_at
from lsp_server.suggestions.request import build_context, build_rewrite

SEED = 3
SHOWN = 4
ASKED = 8
READ_AHEAD_MS = 20_000  # before the time of a case begins: an editor reports where the cursor rests


def main() -> None:
    """Make the cases, run them, and print the results."""
    parser = argparse.ArgumentParser(prog="python -m bench.alternatives", description=__doc__.split("\n")[0])
    parser.add_argument("--packages", type=Path, required=True, nargs="+", help="folders of wheels or of sources")
    parser.add_argument("--model", default="default")
    parser.add_argument("--budget", type=float, default=600.0, help="milliseconds for each case (default: 600)")
    parser.add_argument("--each", type=int, default=20, help="cases of each kind, at most (default: 20)")
    parser.add_argument("--out", type=Path, help="raw results as JSON lines")
    options = parser.parse_args()
    set_threads()
    cases = make_cases(options.packages, options.each)
    engine = load_engine(options.model)
    rows = [run_case(case, engine, options.budget) for case in cases]
    if options.out is not None:
        write_lines(rows, options.out)
    summary = {"model": options.model, "profile": engine.profile, "budget_ms": options.budget, **summarise(rows)}
    for kind, row in summary["kinds"].items():
        print(f"{kind:24}", row)
    print(json.dumps(summary))


def make_cases(folders: Sequence[Path], each: int) -> list[Fault]:
    """Return at most `each` cases per kind, one of a kind per file. Deterministic for equal files."""
    chance = random.Random(SEED)
    modules = [
        module for folder in folders for file in read_packages(folder) if (module := Module.of(file)) is not None
    ]
    chance.shuffle(modules)
    found: dict[str, list[Fault]] = defaultdict(list)
    for module in modules:
        for case in faults_in(module, chance):
            if len(found[case.kind]) < each:
                found[case.kind].append(case)
        if len(found) == 7 and all(len(cases) >= each for cases in found.values()):
            break
    return [case for kind in sorted(found) for case in found[kind]]


def run_case(case: Fault, engine: Engine, budget_ms: float) -> dict[str, Any]:
    """Ask for the alternatives to the first target and compare them with the original."""
    snapshot = Documents().open("file:///case.py", "python", case.text)
    at = place_at(snapshot.lines, case.at)
    spans = [(place_at(snapshot.lines, start), place_at(snapshot.lines, end)) for start, end in case.spans]
    intact = case.original is None
    found = targets_at(snapshot, spans[0] if intact else (at, at), [] if intact else spans)
    engine.prefetch(build_context(snapshot, at, engine.window), Deadline.after_ms(READ_AHEAD_MS))
    began = now()
    texts: list[str] = []
    if found.found:
        target = found.found[0]
        request = build_rewrite(
            snapshot, target.spans, ASKED, engine.window, several_lines=target.several_lines, repeats=target.repeats
        )
        answer = engine.answer(request, Deadline.after_ms(budget_ms))
        texts = [applied(snapshot, offer.edits) for offer in valid_offers(snapshot, target, answer)][:SHOWN]
    ms = (now() - began) * 1000
    right = (number for number, text in enumerate(texts, 1) if case.original and same_program(text, case.original))
    return {
        "package": case.file.package,
        "path": case.file.path,
        "kind": case.kind,
        "target": found.found[0].label if found.found else found.refusal,
        "offered": len(texts),
        "rank": next(right, 0),
        "intact": sum(map(parses, texts)),
        "ms": round(ms, 1),
    }


def summarise(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return shares by kind, and times."""
    kinds = {}
    for kind in sorted({row["kind"] for row in rows}):
        of_kind = [row for row in rows if row["kind"] == kind]
        offered = sum(row["offered"] for row in of_kind)
        kinds[kind] = {
            "n": len(of_kind),
            "right_first": round(sum(row["rank"] == 1 for row in of_kind) / len(of_kind), 3),
            "right_of_4": round(sum(row["rank"] > 0 for row in of_kind) / len(of_kind), 3),
            "some": round(sum(row["offered"] > 0 for row in of_kind) / len(of_kind), 3),
            "intact": round(sum(row["intact"] for row in of_kind) / max(1, offered), 3),
        }
    return {"kinds": kinds, "ms": spread([row["ms"] for row in rows])}


if __name__ == "__main__":
    main()
