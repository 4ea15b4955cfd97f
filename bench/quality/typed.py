"""Retypes code of held-out packages character by character and counts the keystrokes that suggestions save.

    python -m bench.quality.typed --packages training/heldout --holes 120 --project --out bench/results/typed.jsonl

A line of code is missing from its file, or an argument from the middle of a line. Before every character the product is
queried as an editor does automatically. A simulated user then types with these answers. They read everything shown,
accept it with one keystroke if every character is right as far as it goes, and otherwise type on by hand. A suggestion
that they have begun to type stays shown as its remaining text. A single character is not shown, as in the product. How
much is shown depends on the confidence threshold, so this is repeated for many thresholds; the table is for the model's
own.

With --unwritten there is no text below the line, as in a file that is being written.

The baseline is the first copy from the project, shown whenever there is one. Writes one JSON line per hole and system
to --out, a chart and a summary next to it, and one JSON object as the last line printed.
"""

import argparse
import json
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.json_lines import write_lines
from bench.quality.problems.holes import Task, draw_tasks
from bench.quality.reports.metrics import cluster_interval
from bench.quality.reports.outcomes import ALL
from bench.quality.systems.product import PRODUCT, Question, WatchedEngine, ask, copy
from bench.sources import read_packages
from infill_engine.budget.deadline import Deadline
from infill_engine.diagnostics.benchmark.statistics import percentile
from infill_engine.errors import InfillError
from infill_engine.settings import USUAL_WINDOW, EngineSettings, WindowSettings
from lsp_server.completions import is_one_key

KINDS = ("statement", "middle")
THRESHOLDS = tuple(step / 20 for step in range(20))
CURVE = ("saved", "right_of_shown", "wrong_per_100_keystrokes")
WARM_MS = 10_000  # to read the text above, before the first character


@dataclass(frozen=True, slots=True)
class Look:
    """The best text for a place ("" for none), its confidence, and how long it took."""

    text: str
    confidence: float = 1.0
    ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Looks:
    """One system's suggestions before each character of a hole's gold text."""

    id: str
    cluster: str
    kind: str
    system: str
    gold: str
    looks: list[Look]


@dataclass(frozen=True, slots=True)
class Typing:
    """The cost of typing a gold text: keys pressed, suggestions shown, suggestions accepted, answers requested."""

    keystrokes: int = 0
    shown: int = 0
    taken: int = 0
    fresh: int = 0

    def __add__(self, other: "Typing") -> "Typing":
        both = zip(astuple(self), astuple(other), strict=True)
        return Typing(*(one + more for one, more in both))


Looker = Callable[[Question], Look]


@dataclass(slots=True)
class Product:
    """The engine, queried anew at every place."""

    engine: WatchedEngine
    budget_ms: float
    show_from: float = 0.0  # the model's own threshold, known after its first answer
    _task: tuple[str, str] = ("", "")

    def __call__(self, question: Question) -> Look:
        task = question.task
        if (task.id, task.cluster) != self._task:
            self._task = task.id, task.cluster
            deque(self.engine.surround(question.surroundings), maxlen=0)
            self.engine.warm(question.request, Deadline.after_ms(WARM_MS))
        self.engine.forget()
        answer = self.engine.answer(question.request, Deadline.after_ms(self.budget_ms))
        self.show_from = answer.show_from
        if not answer.candidates:
            return Look("", ms=round(answer.elapsed_ms, 2))
        best = answer.candidates[0]
        return Look(best.text, round(best.confidence, 5), round(answer.elapsed_ms, 2))


def first_copy(question: Question) -> Look:
    """Return what followed the same text elsewhere, with no regard to its likelihood here."""
    reply = copy(question)
    return Look(reply.texts[0] if reply.texts else "", ms=round(reply.elapsed_ms, 2))


def look_everywhere(
    task: Task, system: str, look: Looker, candidates: int, window: WindowSettings = USUAL_WINDOW
) -> Looks:
    """Return what `look` suggests before each character of the task's gold text."""
    looks = [look(ask(_after(task, at), candidates, window)) for at in range(len(task.gold))]
    return Looks(task.id, task.cluster, task.kind, system, task.gold, looks)


def typed(found: Looks, show_from: float) -> Typing:
    """Simulate typing the gold text. Suggestions are shown from `show_from` confidence on, if they save a key."""
    at = keystrokes = shown = taken = fresh = 0
    rest = ""  # remainder of the shown suggestion after its beginning was typed
    while at < len(found.gold):
        keystrokes += 1
        suggestion = rest
        if not rest:
            fresh += 1
            look = found.looks[at]
            sure = look.confidence >= show_from and not is_one_key(look.text)
            suggestion = look.text if sure else ""
            shown += bool(suggestion)
        if suggestion and found.gold.startswith(suggestion, at):
            taken += 1
            at += len(suggestion)
            rest = ""
        else:
            rest = suggestion[1:] if suggestion[:1] == found.gold[at] else ""
            at += 1
    return Typing(keystrokes, shown, taken, fresh)


def summarise(results: Sequence[Looks], show_from: float, budget_ms: float) -> dict[str, dict[str, dict[str, Any]]]:
    """Return results at one threshold by system and kind, `all` first."""
    found: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for (system, kind), group in _groups(results).items():
        found[system][kind] = _figures(group, show_from, budget_ms)
    return found


def curve(results: Sequence[Looks]) -> list[dict[str, float]]:
    """Return the savings and the rate of wrong interruptions at each threshold, over all `results`."""
    found = []
    for show_from in THRESHOLDS:
        figures = _figures(results, show_from, float("inf"))
        found.append({"show_from": show_from} | {name: figures[name] for name in CURVE})
    return found


def _groups(results: Sequence[Looks]) -> dict[tuple[str, str], list[Looks]]:
    groups: dict[tuple[str, str], list[Looks]] = defaultdict(list)
    for result in results:
        groups[result.system, ALL].append(result)
        groups[result.system, result.kind].append(result)
    return groups


def unwritten(task: Task) -> Task:
    """Return the task in a file that ends with its line."""
    return replace(task, text="\n".join(task.text.split("\n")[: task.row + 1]) + "\n")


def _after(task: Task, at: int) -> Task:
    """Return the task after the first `at` characters of its gold text have been typed."""
    lines = task.text.split("\n")
    line = lines[task.row]
    lines[task.row] = line[: task.column] + task.gold[:at] + line[task.column :]
    return replace(task, text="\n".join(lines), column=task.column + at)


def _figures(group: Sequence[Looks], show_from: float, budget_ms: float) -> dict[str, Any]:
    total = Typing()
    # A share of characters, so each character counts equally. Those of one package are not independent.
    clusters: dict[str, list[float]] = defaultdict(list)
    for result in group:
        typing = typed(result, show_from)
        total += typing
        characters = len(result.gold)
        clusters[result.cluster] += [1 - typing.keystrokes / characters] * characters
    characters = sum(map(len, clusters.values()))
    times = [look.ms for result in group for look in result.looks]
    return {
        "holes": len(group),
        "characters": characters,
        "keystrokes": total.keystrokes,
        "saved": round(1 - total.keystrokes / characters, 4),
        "saved_interval": [round(bound, 4) for bound in cluster_interval(clusters)],
        "shown": total.shown,
        "taken": total.taken,
        "right_of_shown": round(total.taken / total.shown, 4) if total.shown else 0.0,
        "wrong_per_100_keystrokes": round(100 * (total.shown - total.taken) / total.keystrokes, 2),
        "fresh": round(total.fresh / total.keystrokes, 4),
        "p50_ms": round(percentile(times, 0.5), 2),
        "p99_ms": round(percentile(times, 0.99), 2),
        "late": round(sum(ms > budget_ms for ms in times) / len(times), 4),
    }


def print_table(summary: dict[str, dict[str, dict[str, Any]]]) -> None:
    """Print one row per kind and system."""
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


def draw(curves: dict[str, list[dict[str, float]]], show_from: float, path: Path) -> None:
    """Plot characters saved against wrong suggestions, one line per kind over the thresholds, with copies as dots."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.subplots()
    for name, points in curves.items():
        color = f"C{KINDS.index(name.split(', ')[1])}"
        wrong = [point["wrong_per_100_keystrokes"] for point in points]
        saved = [100 * point["saved"] for point in points]
        if len(points) == 1:
            axes.plot(wrong, saved, "x", color=color, label=name)
            continue
        axes.plot(wrong, saved, color=color, label=name)
        own = min(range(len(points)), key=lambda at: abs(points[at]["show_from"] - show_from))
        axes.plot(wrong[own], saved[own], "o", color=color)
    axes.set(xlabel="wrong suggestions for 100 keystrokes", ylabel="characters saved, %")
    axes.set(xlim=(0, None), ylim=(0, None))
    axes.set_title(f"Typing again what was taken out; dots: shown from {show_from:.2f} on", fontsize=10)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120, metadata={"Software": None})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Return its exit status."""
    options = _parser().parse_args(sys.argv[1:] if arguments is None else arguments)
    try:
        tasks = draw_tasks(read_packages(options.packages), options.holes, options.seed, with_project=options.project)
        engine = WatchedEngine.load(
            options.model, device=options.device, settings=EngineSettings(budget_ms=options.budget_ms)
        )
    except InfillError as fault:
        print(fault, file=sys.stderr)
        return 2
    assert isinstance(engine, WatchedEngine)  # `load` returns an instance of the class it is called on
    product = Product(engine, options.budget_ms)
    wanted = [task for task in tasks if task.kind in KINDS and not task.trivial and "\n" not in task.gold]
    if options.unwritten:
        wanted = [unwritten(task) for task in wanted]
    results, began = [], monotonic()
    for number, task in enumerate(wanted, 1):
        results += [
            look_everywhere(task, "copy", first_copy, options.candidates, engine.window),
            look_everywhere(task, PRODUCT, product, options.candidates, engine.window),
        ]
        if number % 20 == 0 or number == len(wanted):
            print(f"{number} of {len(wanted)} holes, {monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    report(results, product, options)
    return 0


def report(results: Sequence[Looks], product: Product, options: argparse.Namespace) -> None:
    """Write the raw results, the chart and the summary; print the table and the last line."""
    summary = summarise(results, product.show_from, options.budget_ms)
    curves = {
        f"{system}, {kind}": curve(group) if system == PRODUCT else curve(group)[:1]
        for (system, kind), group in _groups(results).items()
        if kind != ALL
    }
    line = {"show_from": product.show_from, "profile": product.engine.profile, "systems": summary, "curves": curves} | {
        name: str(value) if isinstance(value, Path) else value for name, value in vars(options).items()
    }
    if options.out:
        print(f"every look in {write_lines((asdict(result) for result in results), options.out)}")
        stem = options.out.name.split(".")[0]
        options.out.with_name(f"{stem}-summary.json").write_text(json.dumps(line, indent=1) + "\n")
        draw(curves, product.show_from, options.out.with_name(f"{stem}.png"))
    print_table(summary)
    print(json.dumps(line))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.quality.typed", description="Counts what typing is saved.")
    add = parser.add_argument
    add("--packages", type=Path, default=Path("training/heldout"), help="folder of held-out wheels or source folders")
    add("--holes", type=int, default=120, help="of each kind")
    add("--seed", type=int, default=0)
    add("--project", action="store_true", help="search the other files of the package for drafts too")
    add("--unwritten", action="store_true", help="leave out what stands below the line")
    add("--candidates", type=int, default=4)
    add("--budget-ms", type=float, default=150)
    add("--model", default="default")
    add("--device", default="auto")
    add("--out", type=Path, help="where the raw results go; chart and summary go beside it")
    return parser


if __name__ == "__main__":
    sys.exit(main())
