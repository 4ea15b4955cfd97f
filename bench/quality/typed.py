"""Types code of held-out packages again, character by character, and counts what suggestions save whoever types it.

    python -m bench.quality.typed --packages training/heldout --holes 120 --project --out bench/results/typed.jsonl

A line of code is missing from its file, or an argument from the middle of a line. After every character the product is
asked as an editor asks it unasked, and has its earlier answers at hand. Whoever types looks at all that is shown, takes
it for one keystroke if each character of it is right, as far as it goes, and types on by hand if not. A text shown once
more without its beginning, because that was typed, is one showing.

Beside the product stands the first copy from the project, shown wherever there is one. Writes one JSON line for each
hole and system to --out, a summary beside it, and one JSON object as the last line printed.
"""

import argparse
import json
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.json_lines import write_lines
from bench.percentiles import percentile
from bench.quality.holes import Task, draw_tasks
from bench.quality.metrics import cluster_interval
from bench.quality.outcomes import ALL
from bench.quality.systems import Question, ask, copy
from bench.sources import read_packages
from infill_engine.deadline import Deadline
from infill_engine.engine import Engine
from infill_engine.errors import InfillError

KINDS = ("statement", "middle")
WARM_MS = 10_000  # to read what stands above, before the first character


@dataclass(frozen=True, slots=True)
class Look:
    """What one keystroke's answer shows ("" for nothing), whether it was computed for it, and in what time."""

    text: str
    fresh: bool = True
    ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Stroke:
    """One press of a key, after so many characters of the gold text; `taken`: it took what was shown."""

    at: int
    look: Look
    taken: bool
    again: bool  # what is shown is the rest of what was shown before


@dataclass(frozen=True, slots=True)
class Typed:
    """One hole typed by the help of one system."""

    id: str
    cluster: str
    kind: str
    system: str
    gold: str
    strokes: list[Stroke] = field(default_factory=list)

    @property
    def saved(self) -> int:
        """Characters that no key was pressed for."""
        return len(self.gold) - len(self.strokes)


Looker = Callable[[Question], Look]


@dataclass(slots=True)
class Product:
    """The engine, which shows its best candidate if it is sure enough."""

    engine: Engine
    budget_ms: float
    _task: str = ""

    def __call__(self, question: Question) -> Look:
        if question.task.id != self._task:
            self._task = question.task.id
            deque(self.engine.surround(question.surroundings), maxlen=0)
            self.engine.warm(question.request, Deadline.after_ms(WARM_MS))
        answer = self.engine.answer(question.request, Deadline.after_ms(self.budget_ms))
        best = answer.candidates[0] if answer.candidates else None
        shown = best.text if best and best.confidence >= answer.show_from else ""
        return Look(shown, not answer.cached, answer.elapsed_ms)


def first_copy(question: Question) -> Look:
    """What followed the same text elsewhere, however unlikely here."""
    reply = copy(question)
    return Look(reply.texts[0] if reply.texts else "", ms=reply.elapsed_ms)


def typed(task: Task, system: str, look: Looker, candidates: int, show_from: float | None) -> Typed:
    """The task's gold text as it comes about with `look` to help."""
    found = Typed(task.id, task.cluster, task.kind, system, task.gold)
    at, expected = 0, ""
    while at < len(task.gold):
        question = ask(_after(task, at), candidates)
        question = replace(question, request=replace(question.request, show_from=show_from))
        seen = look(question)
        taken = bool(seen.text) and task.gold.startswith(seen.text, at)
        found.strokes.append(Stroke(at, seen, taken, bool(seen.text) and seen.text == expected))
        at += len(seen.text) if taken else 1
        expected = seen.text[1:]
    return found


def summarise(results: Sequence[Typed], budget_ms: float) -> dict[str, dict[str, dict[str, Any]]]:
    """By system and kind, `all` first: characters, the share of them saved, its interval by package, and showings."""
    groups: dict[tuple[str, str], list[Typed]] = defaultdict(list)
    for result in results:
        groups[result.system, ALL].append(result)
        groups[result.system, result.kind].append(result)
    found: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for (system, kind), group in groups.items():
        found[system][kind] = _figures(group, budget_ms)
    return found


def _after(task: Task, at: int) -> Task:
    """The task once the first `at` characters of its gold text have been typed."""
    lines = task.text.split("\n")
    line = lines[task.row]
    lines[task.row] = line[: task.column] + task.gold[:at] + line[task.column :]
    return replace(task, text="\n".join(lines), column=task.column + at)


def _figures(group: Sequence[Typed], budget_ms: float) -> dict[str, Any]:
    strokes = [stroke for result in group for stroke in result.strokes]
    characters = sum(len(result.gold) for result in group)
    shown = sum(bool(stroke.look.text) and not stroke.again for stroke in strokes)
    taken = sum(stroke.taken for stroke in strokes)
    # A share of characters, so each counts as much as any other; those of a package are not independent.
    clusters: dict[str, list[float]] = defaultdict(list)
    for result in group:
        share = result.saved / len(result.gold)
        clusters[result.cluster] += [share] * len(result.gold)
    fresh = [stroke.look.ms for stroke in strokes if stroke.look.fresh]
    return {
        "holes": len(group),
        "characters": characters,
        "keystrokes": len(strokes),
        "saved": round((characters - len(strokes)) / characters, 4),
        "saved_interval": [round(bound, 4) for bound in cluster_interval(clusters)],
        "shown": shown,
        "taken": taken,
        "right_of_shown": round(taken / shown, 4) if shown else 0.0,
        "wrong_per_100_keystrokes": round(100 * (shown - taken) / len(strokes), 2),
        "fresh": round(len(fresh) / len(strokes), 4),
        "p50_ms": round(percentile(fresh, 0.5), 2),
        "p99_ms": round(percentile(fresh, 0.99), 2),
        "late": round(sum(ms > budget_ms for ms in fresh) / len(strokes), 4),
    }


def print_table(summary: dict[str, dict[str, dict[str, Any]]]) -> None:
    """One row for each kind and system."""
    table = Table(title="Gold texts typed again; intervals are 95 %, by package")
    columns = ("kind", "system", "characters", "saved", "interval", "shown", "right", "wrong/100 keys")
    for column in (*columns, "fresh", "p50 ms"):
        table.add_column(column, justify="left" if column in ("kind", "system") else "right", no_wrap=True)
    for kind in (ALL, *KINDS):
        for system, kinds in summary.items():
            if figures := kinds.get(kind):
                low, high = figures["saved_interval"]
                table.add_row(
                    kind,
                    system,
                    f"{figures['characters']:,}",
                    f"{100 * figures['saved']:.1f} %",
                    f"{100 * low:.1f}–{100 * high:.1f}",
                    str(figures["shown"]),
                    f"{100 * figures['right_of_shown']:.0f} %",
                    f"{figures['wrong_per_100_keystrokes']:.1f}",
                    f"{100 * figures['fresh']:.0f} %",
                    f"{figures['p50_ms']:.0f}",
                )
        table.add_section()
    Console(width=150).print(table)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as the command line says; its exit status."""
    options = _parser().parse_args(sys.argv[1:] if arguments is None else arguments)
    try:
        tasks = draw_tasks(read_packages(options.packages), options.holes, options.seed, with_project=options.project)
        engine = Engine.load(options.model, device=options.device)
    except InfillError as fault:
        print(fault, file=sys.stderr)
        return 2
    systems: dict[str, Looker] = {"copy": first_copy, "engine": Product(engine, options.budget_ms)}
    results, began = [], monotonic()
    wanted = [task for task in tasks if task.kind in KINDS and not task.trivial and "\n" not in task.gold]
    for number, task in enumerate(wanted, 1):
        results += [
            typed(task, name, look, options.candidates, options.show_threshold) for name, look in systems.items()
        ]
        if number % 20 == 0 or number == len(wanted):
            print(f"{number} of {len(wanted)} holes, {monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    summary = summarise(results, options.budget_ms)
    line = {"pace": engine.pace, "device": engine.device, "systems": summary} | {
        name: str(value) if isinstance(value, Path) else value for name, value in vars(options).items()
    }
    if options.out:
        print(f"every keystroke in {write_lines((asdict(result) for result in results), options.out)}")
        stem = options.out.name.split(".")[0]
        options.out.with_name(f"{stem}-summary.json").write_text(json.dumps(line, indent=1) + "\n")
    print_table(summary)
    print(json.dumps(line))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.quality.typed", description="Counts what typing is saved.")
    add = parser.add_argument
    add("--packages", type=Path, default=Path("training/heldout"), help="folder of held-out wheels or source folders")
    add("--holes", type=int, default=120, help="of each kind")
    add("--seed", type=int, default=0)
    add("--project", action="store_true", help="search the other files of the package for drafts too")
    add("--candidates", type=int, default=4)
    add("--budget-ms", type=float, default=150)
    add("--show-threshold", type=float, help="the least confidence that is shown; else the model's own")
    add("--model", default="default")
    add("--device", default="auto")
    add("--out", type=Path, help="where the raw results go; the summary goes beside it")
    return parser


if __name__ == "__main__":
    sys.exit(main())
