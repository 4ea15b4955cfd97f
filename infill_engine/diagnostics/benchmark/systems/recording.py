"""Costs that keep every piece of work that was done, and that can end an answer after a number of passes."""

from dataclasses import dataclass, field

from infill_engine.budget.work import EVER_MS, Costs, Phase
from infill_engine.diagnostics.benchmark.systems.answered import Piece


@dataclass(slots=True)
class RecordedCosts(Costs):
    """The costs of a sampler, with the pieces since `restart`. After `most_passes` no further pass seems affordable."""

    pieces: list[Piece] = field(default_factory=list)
    most_passes: int | None = None

    def restart(self, most_passes: int | None) -> None:
        """Forget the pieces, before another answer."""
        self.pieces, self.most_passes = [], most_passes

    def predict_ms(self, phase: Phase, size: int) -> float:
        """Return the expected milliseconds of a piece of that size; those of no budget if it is one pass too many."""
        if phase is Phase.PASS and self.most_passes is not None and self._passes() >= self.most_passes:
            return EVER_MS
        return Costs.predict_ms(self, phase, size)

    def observe(self, phase: Phase, size: int, took_ms: float) -> None:
        """Record how long a piece took."""
        self.pieces.append(Piece(phase, size, took_ms))
        Costs.observe(self, phase, size, took_ms)

    def _passes(self) -> int:
        return sum(piece.phase is Phase.PASS for piece in self.pieces)
