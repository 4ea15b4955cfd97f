"""Baseline: left-to-right beam search by the trunk, with the same prompt and weights and without retrieval."""

from dataclasses import dataclass, field, replace
from time import perf_counter

from bench.quality.systems.left_to_right import read_before_the_line, write_left_to_right
from bench.quality.systems.product import Question, Reply, reply
from infill_engine.budget.deadline import Clock, Deadline, FinishMargin, now
from infill_engine.budget.work import Budget, Costs
from infill_engine.models.trunk.model import TrunkModel


@dataclass(slots=True)
class BeamSystem:
    """Extends `beams` texts by one token per pass, within the budget. The prefix is encoded beforehand."""

    model: TrunkModel
    budget_ms: float
    beams: int = 4
    clock: Clock = now
    costs: Costs = field(default_factory=Costs)

    def __call__(self, question: Question) -> Reply:
        request = question.request
        read_before_the_line(self.model, request)
        started, began = perf_counter(), self.clock()
        budget = Budget(Deadline.after_ms(self.budget_ms, clock=self.clock), self.costs, FinishMargin(0.0))
        own = write_left_to_right(self.model, request, question.hole, self.beams, budget)
        elapsed_ms = 1000 * (self.clock() - began)
        return replace(reply(question, own[: request.candidates], started), elapsed_ms=elapsed_ms)
