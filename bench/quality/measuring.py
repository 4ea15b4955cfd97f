"""Asks every system at every hole. The replies are kept as they come, so that a run that was stopped can go on."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from time import monotonic

from bench.json_lines import Unfinished
from bench.quality.problems.holes import Task
from bench.quality.reports.outcomes import Outcome, judge
from bench.quality.systems.product import System, ask
from infill_engine.settings import USUAL_WINDOW, WindowSettings

REPORTED_EVERY = 20  # holes


class Kept:
    """The outcomes of a run that has not ended."""

    def __init__(self, unfinished: Unfinished) -> None:
        self.unfinished = unfinished
        self._found = {(row["system"], row["id"]): Outcome(**row) for row in unfinished.rows}

    def get(self, system: str, task: Task) -> Outcome | None:
        """Return the outcome of an earlier run; None if there is none."""
        return self._found.get((system, task.id))

    def add(self, outcomes: Sequence[Outcome]) -> None:
        """Keep the outcomes of one hole."""
        self.unfinished.add([asdict(outcome) for outcome in outcomes])
        self._found |= {(outcome.system, outcome.id): outcome for outcome in outcomes}


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
