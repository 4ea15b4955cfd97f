"""The systems that are compared. Each answers a problem within a budget."""

from dataclasses import dataclass, replace
from typing import Protocol

from infill_engine.budget.deadline import Deadline, now, since
from infill_engine.diagnostics.benchmark.problems.problem_files import Problem
from infill_engine.engine.engine import Engine
from infill_engine.types import InfillRequest

SERVED = "served"
READING_MS = 10_000  # at most, for the text up to the cursor's line


@dataclass(frozen=True, slots=True)
class BenchmarkSetting:
    """How many candidates are wanted, and in how many milliseconds."""

    candidates: int
    budget_ms: float

    def __str__(self) -> str:
        return f"{self.candidates} in {self.budget_ms:.0f} ms"


@dataclass(frozen=True, slots=True)
class TimedTexts:
    """The texts of an answer, best first, and the milliseconds from the request to the texts."""

    texts: tuple[str, ...] = ()
    ms: float = 0.0


class System(Protocol):
    """Anything that fills holes. `way` names how, such as `served` or `6 passes`."""

    @property
    def way(self) -> str: ...

    def answer(self, problem: Problem, setting: BenchmarkSetting) -> TimedTexts:
        """Answer a problem whose text up to the cursor's line has been read beforehand."""
        ...


@dataclass(slots=True)
class Served:
    """The engine as it serves."""

    engine: Engine
    way: str = SERVED

    def answer(self, problem: Problem, setting: BenchmarkSetting) -> TimedTexts:
        """Return the engine's answer. The text up to the cursor's line is read first, as while typing."""
        request = problem.request(setting.candidates)
        read_up_to_the_line(self.engine, request)
        began = now()
        answer = self.engine.fresh(request, Deadline.after_ms(setting.budget_ms))
        return TimedTexts(tuple(candidate.text for candidate in answer.candidates), since(began))


def read_up_to_the_line(engine: Engine, request: InfillRequest) -> None:
    """Have an engine read the text up to the cursor's line."""
    line = request.prefix.rfind("\n") + 1
    engine.prefetch(replace(request, prefix=request.prefix[:line]), Deadline.after_ms(READING_MS))
