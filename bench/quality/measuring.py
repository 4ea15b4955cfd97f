"""Asks every system at every hole. The replies are kept as they come, so that a run that was stopped can go on."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import Any

from bench.quality.problems.holes import Task
from bench.quality.reports.outcomes import Outcome, judge
from bench.quality.systems.product import System, ask
from infill_engine.errors import InputError
from infill_engine.settings import USUAL_WINDOW, WindowSettings

REPORTED_EVERY = 20  # holes


class Kept:
    """The outcomes of a run that has not ended, in a file that grows by one line for each.

    The first line holds the run's settings. Raises InputError if the file is of a run with other settings.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self.path = path
        self._found: dict[tuple[str, str], Outcome] = {}
        lines = path.read_text().split("\n")[:-1] if path.exists() else []  # a last line without an end was cut
        if lines and json.loads(lines[0]) != settings:
            raise InputError(f"{path} is of a run with other settings: remove it, or choose another --out")
        for line in lines[1:]:
            self._remember(Outcome(**json.loads(line)))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(line + "\n" for line in lines or [json.dumps(settings)]))

    def get(self, system: str, task: Task) -> Outcome | None:
        """Return the outcome of an earlier run; None if there is none."""
        return self._found.get((system, task.id))

    def add(self, outcomes: Sequence[Outcome]) -> None:
        """Keep the outcomes of one hole."""
        with self.path.open("a") as file:
            file.writelines(json.dumps(asdict(outcome), ensure_ascii=False) + "\n" for outcome in outcomes)
        for outcome in outcomes:
            self._remember(outcome)

    def _remember(self, outcome: Outcome) -> None:
        self._found[outcome.system, outcome.id] = outcome


def measure(
    tasks: Sequence[Task],
    systems: dict[str, System],
    candidates: int,
    budget_ms: float,
    window: WindowSettings = USUAL_WINDOW,
    kept: Kept | None = None,
) -> list[Outcome]:
    """Return every system's judged reply to every task. Those that are `kept` already are not asked for again."""
    outcomes: list[Outcome] = []
    began = monotonic()
    for number, task in enumerate(tasks, 1):
        earlier = {name: found for name in systems if kept and (found := kept.get(name, task))}
        fresh: dict[str, Outcome] = {}
        if len(earlier) < len(systems):
            question = ask(task, candidates, window)
            missing = {name: system for name, system in systems.items() if name not in earlier}
            fresh = {name: judge(name, question, system(question), budget_ms) for name, system in missing.items()}
            if kept:
                kept.add(list(fresh.values()))
        outcomes += [(earlier | fresh)[name] for name in systems]
        if number % REPORTED_EVERY == 0 or number == len(tasks):
            print(f"{number} of {len(tasks)} holes, {monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return outcomes
