"""The product with a limited number of forward passes in place of a deadline, and what these passes cost."""

from dataclasses import dataclass, field, replace

from infill_engine.budget.deadline import Deadline, now, since
from infill_engine.budget.work import EVER_MS, Costs, Phase
from infill_engine.diagnostics.benchmark.problems.problem_files import Problem
from infill_engine.diagnostics.benchmark.results import BenchmarkSetting
from infill_engine.diagnostics.benchmark.running import read_up_to_the_line
from infill_engine.engine.engine import Engine

UNHURRIED_MS = 20_000.0  # the budget of an answer whose passes are limited


@dataclass(slots=True)
class CountedCosts(Costs):
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


class LimitedPasses:
    """The engine as it serves, in `passes` passes. Without `drafts` it gets no retrieved texts.

    It replaces the engine's costs.
    """

    def __init__(self, engine: Engine, passes: int, *, drafts: bool = True) -> None:
        self.engine, self.passes, self.drafts = engine, passes, drafts
        self.costs = engine.proposer.costs = CountedCosts(engine.proposer.costs.phases)

    @property
    def way(self) -> str:
        return f"{self.passes} passes"

    def answer(self, problem: Problem, setting: BenchmarkSetting) -> tuple[tuple[str, ...], float]:
        """Return the texts of the engine's answer and its milliseconds. `costs` has the passes that it took."""
        request = problem.request(setting.candidates)
        request = request if self.drafts else replace(request, drafts=())
        self.costs.restart(None)
        read_up_to_the_line(self.engine, request)
        self.costs.restart(self.passes)
        began = now()
        answer = self.engine.fresh(request, Deadline.after_ms(setting.budget_ms))
        self.costs.most_passes = None
        return tuple(candidate.text for candidate in answer.candidates), since(began)
