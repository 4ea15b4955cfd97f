"""What a system is asked, and what it answered."""

from dataclasses import dataclass, field
from typing import Protocol

from infill_engine.budget.work import Phase
from infill_engine.diagnostics.benchmark.problems.loading import Problem

UNHURRIED_MS = 20_000.0  # the budget of an answer whose passes are limited instead


@dataclass(frozen=True, slots=True)
class Setting:
    """How many candidates are wanted, and the limit: `budget_ms`, or `passes` without a limit of time."""

    candidates: int
    budget_ms: float = UNHURRIED_MS
    passes: int | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of work, usually a forward pass over `size` rows, and its milliseconds."""

    phase: Phase
    size: int
    ms: float


@dataclass(frozen=True, slots=True)
class Answered:
    """The texts of an answer, best first, with its cost. `ms` runs from the request to the texts.

    `tokens` are the numbers of tokens of the texts, and `cpu_ms` is the processor time of this process. `pieces` are
    empty for a system in another process.
    """

    texts: tuple[str, ...] = ()
    ms: float = 0.0
    cpu_ms: float | None = None
    tokens: tuple[int, ...] = ()
    pieces: tuple[Piece, ...] = ()
    partial: tuple[bool, ...] = ()
    sources: tuple[str, ...] = ()
    reason: str = ""
    extra: dict[str, float] = field(default_factory=dict)

    @property
    def passes(self) -> list[Piece]:
        """The forward passes over a canvas or over tokens after the prompt."""
        return [piece for piece in self.pieces if piece.phase in (Phase.PASS, Phase.WRITE)]


class System(Protocol):
    """Anything that fills holes. `way` names how it decodes, such as `served` or `left to right`."""

    @property
    def way(self) -> str: ...

    def answer(self, problem: Problem, setting: Setting) -> Answered:
        """Answer a problem whose text up to the cursor's line has been read beforehand."""
        ...


class Peer(System, Protocol):
    """A program of others. It starts when it is first asked."""

    def close(self) -> None:
        """End it."""
        ...
