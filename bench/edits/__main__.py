"""Measures next edits after mechanical edits of real packages: edits found, false alarms, and time.

    python -m bench.edits --packages FOLDER [--each N] [--out FILE]
    python -m bench.edits --histories FOLDER [--split held-out] [--model default] [--each N] [--out FILE]

The second command measures on the examples of `bench.edits.histories` instead. The baseline of the first is a plain
find-and-replace of the changed word. The last line is JSON.
"""

import argparse
import ast
import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from bench.edits.calling import signature_changes
from bench.edits.case import Case, Module, Wanted, faults, reverses, same_program
from bench.edits.harmless import harmless
from bench.edits.histories import measuring
from bench.edits.histories.repositories import SPLITS
from bench.edits.histories.sampling import sample, sample_elsewhere
from bench.edits.histories.systems import WithModel, propose
from bench.edits.others import fields, literals, mirrored
from bench.edits.renaming import renames
from bench.json_lines import Unfinished, write_lines
from bench.sources import read_packages
from bench.spread import spread
from infill_engine.edits.changes import hunk_texts, word_at
from infill_engine.edits.find import SHOW_FROM, find_consequences
from infill_engine.edits.parsed_text import words
from infill_engine.edits.types import MOST_PROPOSALS, Edit, EditedText, Span, applied
from infill_engine.engine.engine_loading import load_engine

SEED = 11
FAMILIES = {
    "rename": "renames",
    "parameter added": "signatures",
    "parameter removed": "signatures",
    "parameter moved": "signatures",
}


def main() -> None:
    """Make the cases, run them, and print the results."""
    parser = argparse.ArgumentParser(prog="python -m bench.edits", description=__doc__.split("\n")[0])
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--packages", type=Path, nargs="+", help="folders of wheels or of sources")
    source.add_argument("--histories", type=Path, help="folder of examples of version histories")
    parser.add_argument("--split", choices=SPLITS, default="held-out", help="of the examples (default: held-out)")
    parser.add_argument("--elsewhere", action="store_true", help="examples in files that have not been edited yet")
    parser.add_argument("--model", default="", help="also let this model propose edits for histories, such as default")
    parser.add_argument("--budget", type=float, default=2000, help="milliseconds of the model for a region")
    parser.add_argument("--each", type=int, default=60, help="cases of each kind, at most (default: 60)")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--out", type=Path, help="raw results as JSON lines")
    parser.add_argument("--missed", type=int, default=0, help="print so many cases of each kind that went wrong")
    options = parser.parse_args()
    if options.histories is not None:
        draw = sample_elsewhere if options.elsewhere else sample
        examples = draw(options.histories / f"{options.split}.jsonl", options.each, options.seed)
        system = WithModel(load_engine(options.model), options.budget) if options.model else propose
        rows = measured(examples, system, options)
        print(json.dumps(measuring.summarise(rows)))
        return
    cases = make_cases(options.packages, options.each, options.seed)
    rows = [run_case(case) for case in cases]
    if options.out is not None:
        write_lines(rows, options.out)
    _print_missed(cases, rows, options.missed)
    summary = summarise(rows)
    print_table(summary)
    print(json.dumps(summary))


def measured(
    examples: Sequence[dict[str, Any]], system: measuring.System, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Return a row for each example. With `--out`, the same command goes on where a stopped run ended."""
    if options.out is None:
        return list(measuring.measure(examples, system))
    names = ("split", "elsewhere", "model", "budget", "each", "seed")
    unfinished = Unfinished(options.out, {name: getattr(options, name) for name in names})
    for row in measuring.measure(examples[len(unfinished.rows) :], system):
        unfinished.add([row])
    write_lines(unfinished.rows, options.out)
    unfinished.path.unlink()
    return unfinished.rows


def make_cases(folders: Sequence[Path], each: int, seed: int) -> list[Case]:
    """Return at most `each` cases per kind, drawn evenly from all files. Deterministic for equal files and seed."""
    chance = random.Random(seed)
    files = [file for folder in folders for file in read_packages(folder)]
    modules = [module for file in files if (module := Module.of(file)) is not None]
    vocabulary = sorted(
        {node.id for module in modules[:200] for node in ast.walk(module.tree) if isinstance(node, ast.Name)}
    )
    vocabulary = [word for word in vocabulary if word.islower() and len(word) > 3 and word.isidentifier()]
    chance.shuffle(modules)
    found: dict[str, list[Case]] = defaultdict(list)
    for module in modules:
        wanted = Wanted(frozenset(kind for kind, cases in found.items() if len(cases) >= each))
        makers = (
            renames(module, chance, vocabulary, wanted),
            signature_changes(module, chance, wanted),
            fields(module),
            literals(module, chance, vocabulary),
            mirrored(module),
            harmless(module, chance, vocabulary, wanted),
        )
        for case in chain.from_iterable(makers):
            if len(found[case.kind]) < each:
                found[case.kind].append(case)
        if len(found) >= 26 and all(len(cases) >= each for cases in found.values()):
            break
    return [case for kind in sorted(found) for case in found[kind]]


def run_case(case: Case) -> dict[str, Any]:
    """Find the consequences of a case's edit and compare them with the expected text."""
    history = hunk_texts(case.before, case.changes)
    edited = EditedText(case.before, case.after, case.changes, case.language, _cursor(case), history)
    began, computed = time.perf_counter(), time.thread_time()
    found = find_consequences(edited)
    elapsed, computed = (time.perf_counter() - began) * 1000, (time.thread_time() - computed) * 1000
    results = [applied(edited.after, proposal.edits) for proposal in found.proposals]
    rank = 0
    if case.expected is not None:
        right = (
            number
            for number, text in enumerate(results, 1)
            if text is not None and same_program(text, case.expected, case.language)
        )
        rank = next(right, 0)
    replaced = find_and_replace(case)
    return {
        "package": case.file.package,
        "path": case.file.path,
        "kind": case.kind,
        "harmless": case.expected is None,
        "proposals": [
            {"kind": p.kind.value, "confidence": round(p.confidence, 3), "edits": len(p.edits)} for p in found.proposals
        ],
        "silence": None if found.reason is None else found.reason.value,
        "rank": rank,
        "replaced": case.expected is not None
        and replaced is not None
        and same_program(replaced, case.expected, case.language),
        "reversals": sum(reverses(proposal, edited) for proposal in found.proposals),
        "broken": sum(text is None or not _parses(text, case) for text in results),
        "ms": round(elapsed, 2),
        "cpu_ms": round(computed, 2),
        "chars": len(case.before),
    }


def find_and_replace(case: Case) -> str | None:
    """Return the text with every occurrence of the changed word replaced, as the user could do by hand."""
    if len(case.changes) != 1:
        return None
    change = case.changes[0]
    start, end = word_at(case.before, change.start, change.end, case.language)
    old = case.before[start:end]
    new = case.before[start : change.start] + change.new + case.before[change.end : end]
    if not old.isidentifier():
        return None
    after = case.after
    edits = tuple(Edit(Span(at, at + len(old), old), new) for at in words(after, old, case.language))
    return applied(after, edits)


def summarise(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return shares by kind and family, false alarms, reversals, syntax errors and times."""
    telling = [row for row in rows if not row["harmless"]]
    quiet = [row for row in rows if row["harmless"]]
    kinds = {
        kind: _found([row for row in telling if row["kind"] == kind]) for kind in sorted({r["kind"] for r in telling})
    }
    families = {
        name: _found([row for row in telling if name in ("all", _family(row["kind"]))])
        for name in ("renames", "signatures", "others", "all")
    }
    alarms = Counter(row["kind"] for row in quiet if row["proposals"])
    return {
        "cases": len(telling),
        "harmless": len(quiet),
        "kinds": kinds,
        "families": families,
        "false_alarms": round(sum(alarms.values()) / max(1, len(quiet)), 4),
        "false_alarms_by_kind": {
            kind: [alarms[kind], sum(r["kind"] == kind for r in quiet)] for kind in sorted({r["kind"] for r in quiet})
        },
        "reversals": sum(row["reversals"] for row in rows),
        "broken": sum(row["broken"] for row in rows),
        "ms": spread([row["ms"] for row in rows]),
        "cpu_ms": spread([row["cpu_ms"] for row in rows]),
        "show_from": SHOW_FROM,
        "most_proposals": MOST_PROPOSALS,
    }


def _found(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    count = max(1, len(rows))
    return {
        "n": len(rows),
        "first": round(sum(row["rank"] == 1 for row in rows) / count, 3),
        "found": round(sum(row["rank"] > 0 for row in rows) / count, 3),
        "replaced": round(sum(row["replaced"] for row in rows) / count, 3),
    }


def _family(kind: str) -> str:
    return "renames" if kind.startswith("rename") else FAMILIES.get(kind, "others")


def _cursor(case: Case) -> int:
    """Return the offset right after the newest inserted text."""
    growth = sum(change.growth for change in case.changes[:-1])
    last = case.changes[-1]
    return last.start + growth + len(last.new)


def _parses(text: str, case: Case) -> bool:
    if case.language != "python":
        return faults(text, case.language) <= faults(case.after, case.language)
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def print_table(summary: dict[str, Any]) -> None:
    print(f"{'':24}{'cases':>7}{'rank 1':>9}{'rank <= 4':>11}{'find and replace':>18}")
    for name, row in (*summary["kinds"].items(), *summary["families"].items()):
        print(f"{name:24}{row['n']:7}{row['first']:9.1%}{row['found']:11.1%}{row['replaced']:18.1%}")
    print(f"false alarms {summary['false_alarms']:.2%} of {summary['harmless']}:", summary["false_alarms_by_kind"])
    print(f"reversals {summary['reversals']}, syntax errors {summary['broken']}")
    print(f"ms {summary['ms']}, of one CPU {summary['cpu_ms']}")


def _print_missed(cases: Sequence[Case], rows: Sequence[dict[str, Any]], most: int) -> None:
    seen: Counter[str] = Counter()
    for case, row in zip(cases, rows, strict=True):
        wrong = bool(row["proposals"]) if row["harmless"] else row["rank"] == 0
        seen[case.kind] += wrong
        if not wrong or seen[case.kind] > most:
            continue
        change = case.changes[0]
        line = case.before.count("\n", 0, change.start) + 1
        old = case.before[change.start : change.end]
        print(
            f"{case.kind}: {case.file.package} {case.file.path}:{line} {old!r} -> {change.new!r}",
            row["silence"],
            row["proposals"],
        )


if __name__ == "__main__":
    main()
