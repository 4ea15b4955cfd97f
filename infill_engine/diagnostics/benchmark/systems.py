"""The systems that are compared. Each answers a problem within a budget, and what its passes cost is recorded."""

import time
from dataclasses import dataclass, field, replace
from typing import Protocol

from infill_engine.budget.deadline import Deadline, now, since
from infill_engine.budget.work import EVER_MS, Costs, Phase
from infill_engine.diagnostics.benchmark.problems.problem_files import Problem
from infill_engine.engine.engine import Engine

SERVED, MODEL_ALONE = "served", "model alone"
UNHURRIED_MS = 20_000.0  # the budget of an answer whose passes are limited instead
READING_MS = 10_000  # at most, for the text up to the cursor's line


@dataclass(frozen=True, slots=True)
class Setting:
    """How many candidates are wanted, and the limit: `budget_ms`, or `passes` without a limit of time."""

    candidates: int
    budget_ms: float = UNHURRIED_MS
    passes: int | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """The texts of an answer, best first, with its cost. `ms` runs from the request to the texts.

    `cpu_ms` is the processor time of this process; `pass_ms` has one number for each forward pass. Both are empty for a
    system in another process.
    """

    texts: tuple[str, ...] = ()
    ms: float = 0.0
    cpu_ms: float | None = None
    pass_ms: tuple[float, ...] = ()


class System(Protocol):
    """Anything that fills holes. `way` names how it decodes, such as `served` or `left to right`."""

    @property
    def way(self) -> str: ...

    def answer(self, problem: Problem, setting: Setting) -> Answered:
        """Answer a problem whose text up to the cursor's line has been read beforehand."""
        ...


@dataclass(slots=True)
class RecordedCosts(Costs):
    """The costs of a sampler, with the passes since `restart`. After `most_passes`, no pass seems affordable."""

    pass_ms: list[float] = field(default_factory=list)
    most_passes: int | None = None

    def restart(self, most_passes: int | None) -> None:
        """Forget the passes, before another answer."""
        self.pass_ms, self.most_passes = [], most_passes

    def predict_ms(self, phase: Phase, size: int) -> float:
        """Return the expected milliseconds of a piece of work; those of no budget for a pass too many."""
        if phase is Phase.PASS and self.most_passes is not None and len(self.pass_ms) >= self.most_passes:
            return EVER_MS
        return Costs.predict_ms(self, phase, size)

    def observe(self, phase: Phase, size: int, took_ms: float) -> None:
        """Record how long a piece of work took."""
        if phase is Phase.PASS:
            self.pass_ms.append(took_ms)
        Costs.observe(self, phase, size, took_ms)


def recorded(engine: Engine) -> RecordedCosts:
    """Replace the engine's costs with recorded ones, once, and return them."""
    if not isinstance(engine.proposer.costs, RecordedCosts):
        engine.proposer.costs = RecordedCosts(engine.proposer.costs.phases)
    return engine.proposer.costs


@dataclass(slots=True)
class Served:
    """The engine as it serves. Without `drafts` it gets no retrieved texts."""

    engine: Engine
    drafts: bool = True

    @property
    def way(self) -> str:
        return SERVED if self.drafts else MODEL_ALONE

    def answer(self, problem: Problem, setting: Setting) -> Answered:
        """Return the engine's answer. The text up to the cursor's line is read first, as while typing."""
        costs, request = recorded(self.engine), problem.request(setting.candidates)
        line = request.prefix.rfind("\n") + 1
        costs.restart(None)
        self.engine.prefetch(replace(request, prefix=request.prefix[:line]), Deadline.after_ms(READING_MS))
        costs.restart(setting.passes)
        request = request if self.drafts else replace(request, drafts=())
        began, cpu = now(), time.process_time()
        answer = self.engine.fresh(request, Deadline.after_ms(setting.budget_ms))
        ms, cpu_ms = since(began), 1000 * (time.process_time() - cpu)
        passes = tuple(costs.pass_ms)
        costs.restart(None)
        return Answered(tuple(candidate.text for candidate in answer.candidates), ms, cpu_ms, passes)
