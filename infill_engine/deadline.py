"""Time: when an answer is due, whether it is still wanted, and what a step is going to cost."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

Clock = Callable[[], float]  # seconds, monotonic


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moment an answer is due, and whether anybody still waits for it.

    `expires_at` is in seconds of `clock`. The default clock is the system's monotonic clock, which processes on one
    machine share, so a deadline can be sent to a worker as a number.
    """

    expires_at: float
    clock: Clock = time.monotonic
    cancelled: Callable[[], bool] = _never

    @classmethod
    def after_ms(cls, budget_ms: float, *, clock: Clock = time.monotonic) -> "Deadline":
        """The deadline `budget_ms` milliseconds from now."""
        return cls(clock() + budget_ms / 1000, clock)

    def remaining_ms(self) -> float:
        """Milliseconds left; negative when past."""
        return (self.expires_at - self.clock()) * 1000

    def allows(self, cost_ms: float) -> bool:
        """Whether work that takes `cost_ms` would still be wanted and done in time."""
        return not self.cancelled() and self.remaining_ms() >= cost_ms


@dataclass(slots=True)
class CostModel:
    """Predicts the milliseconds of one unit of work by an exponential average of what it took before.

    A step cannot be pre-empted, so one is never started that this prediction says cannot finish. Costs are kept per
    shape (rows and slots of the canvas); an unseen shape is scaled from the nearest seen one by its number of cells.
    """

    smoothing: float = 0.25
    default_ms_per_cell: float = 0.25
    _seen: dict[tuple[int, int], float] = field(default_factory=dict)

    def predict_ms(self, rows: int, slots: int) -> float:
        """Milliseconds that a step over `rows` × `slots` cells is expected to take."""
        known = self._seen.get((rows, slots))
        if known is not None:
            return known
        cells = rows * slots
        if not self._seen:
            return cells * self.default_ms_per_cell
        (near_rows, near_slots), cost = min(self._seen.items(), key=lambda item: abs(item[0][0] * item[0][1] - cells))
        # Half of a step is overhead that does not shrink with the canvas.
        return cost * (0.5 + 0.5 * cells / (near_rows * near_slots))

    def observe(self, rows: int, slots: int, took_ms: float) -> None:
        """Learn what a step of this shape took. A slow step counts at once, a fast one only gradually."""
        known = self._seen.get((rows, slots), took_ms)
        weight = max(self.smoothing, 0.5) if took_ms > known else self.smoothing
        self._seen[rows, slots] = known + weight * (took_ms - known)
