"""An answer after a number of passes instead of milliseconds: the same on every machine, and soon."""

from dataclasses import dataclass

from infill_engine.budget.deadline import Deadline
from infill_engine.budget.work import EVER_MS, Costs, Phase
from infill_engine.engine.engine import Engine
from infill_engine.types import Answer, InfillRequest

PASSES = 12
ENOUGH_MS = 60_000.0


@dataclass(slots=True)
class FewPasses(Costs):
    """No pass after the first `left` seems affordable."""

    left: int = PASSES

    def predict_ms(self, phase: Phase, size: int) -> float:
        return Costs.predict_ms(self, phase, size) if self.left or phase is not Phase.PASS else EVER_MS

    def observe(self, phase: Phase, size: int, took_ms: float) -> None:
        self.left -= phase is Phase.PASS
        Costs.observe(self, phase, size, took_ms)


def answer_in_few_passes(engine: Engine, request: InfillRequest) -> Answer:
    """Return the answer after at most PASSES passes."""
    engine.proposer.costs = FewPasses()
    return engine.answer(request, Deadline.after_ms(ENOUGH_MS))
