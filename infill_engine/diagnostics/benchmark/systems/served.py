"""The product as a system, and its model without retrieved texts."""

import time
from dataclasses import dataclass, field, replace

from infill_engine.budget.deadline import Deadline, now, since
from infill_engine.diagnostics.benchmark.problems.loading import Problem
from infill_engine.diagnostics.benchmark.systems.answered import Answered, Setting
from infill_engine.diagnostics.benchmark.systems.recording import RecordedCosts
from infill_engine.engine.local import LocalEngine

SERVED, MODEL_ALONE = "served", "model alone"
WARM_MS = 10_000


def recorded(engine: LocalEngine) -> RecordedCosts:
    """Return the engine's costs, which are replaced by costs that keep every piece of work."""
    if not isinstance(engine.sampler.costs, RecordedCosts):
        engine.sampler.costs = RecordedCosts(engine.sampler.costs.phases)
    return engine.sampler.costs


@dataclass(slots=True)
class Served:
    """The engine as it serves. Without `drafts` it gets no retrieved texts."""

    engine: LocalEngine
    drafts: bool = True
    _costs: RecordedCosts = field(init=False)

    def __post_init__(self) -> None:
        self._costs = recorded(self.engine)

    @property
    def way(self) -> str:
        return SERVED if self.drafts else MODEL_ALONE

    def answer(self, problem: Problem, setting: Setting) -> Answered:
        """The engine's answer. The text up to the cursor's line is read before the clock starts, as while typing."""
        request = problem.request(setting.candidates)
        line = request.prefix.rfind("\n") + 1
        self._costs.restart(None)
        self.engine.warm(replace(request, prefix=request.prefix[:line]), Deadline.after_ms(WARM_MS))
        self._costs.restart(setting.passes)
        request = request if self.drafts else replace(request, drafts=())
        began, cpu = now(), time.process_time()
        answer = self.engine.fresh(request, Deadline.after_ms(setting.budget_ms))
        ms, cpu_ms = since(began), 1000 * (time.process_time() - cpu)
        pieces = tuple(self._costs.pieces)
        self._costs.restart(None)
        texts = tuple(candidate.text for candidate in answer.candidates)
        return Answered(
            texts,
            ms,
            cpu_ms,
            tuple(len(self.engine.model.vocabulary.encode(text)) for text in texts),
            pieces,
            tuple(candidate.partial for candidate in answer.candidates),
            tuple(candidate.source.value for candidate in answer.candidates),
            "" if answer.reason is None else answer.reason.value,
            {"encode_ms": round(answer.encode_ms, 2)},
        )
