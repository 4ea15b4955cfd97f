"""Time: when an answer is due, whether it is still wanted, and what a pass will cost."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

MOST_SLOWDOWN = 4.0  # times the expected time; a slower single pass was interrupted and counts as this much
LEAST_SLOWDOWN = 0.25
SMOOTHING = 0.25  # the weight of the last pass in the slowdown
UNKNOWN_MS = 20.0  # the predicted time of a pass before any has been measured
DECAY = 0.98  # a cost that is a quarter too high takes about a dozen keystrokes to correct
SPARE = 1.5  # times what finishing an answer took; the next one may take longer
FORGETTING = 0.85  # decay of the worst time per answer
Clock = Callable[[], float]  # seconds, monotonic
# Shared by all processes of a machine, like `time.monotonic`. Before Python 3.13, `time.monotonic` on Windows advances
# in steps of 16 ms, so a short pass would seem to take no time.
now: Clock = time.perf_counter


def since(started: float) -> float:
    """Return milliseconds since `started`, a time of the clock."""
    return (now() - started) * 1000


def timed(call: Callable[..., object], *arguments: object) -> float:
    """Return the milliseconds that a call takes."""
    started = now()
    call(*arguments)
    return since(started)


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moment an answer is due, and whether the client still waits for it.

    `expires_at` is in seconds of `clock`. The default clock is shared by the processes of a machine, so a deadline can
    be sent to an engine as a number.
    """

    expires_at: float
    clock: Clock = now
    cancelled: Callable[[], bool] = _never

    @classmethod
    def after_ms(cls, budget_ms: float, *, clock: Clock = now) -> "Deadline":
        """Return the deadline `budget_ms` milliseconds from now."""
        return cls(clock() + budget_ms / 1000, clock)

    def remaining_ms(self) -> float:
        """Return milliseconds left; negative when past."""
        return (self.expires_at - self.clock()) * 1000

    def sooner(self, share: float) -> "Deadline":
        """Return a deadline after that share of the remaining time."""
        return replace(self, expires_at=self.clock() + share * (self.expires_at - self.clock()))

    def within_ms(self, limit_ms: float) -> "Deadline":
        """Return a deadline at most `limit_ms` milliseconds from now."""
        return replace(self, expires_at=min(self.expires_at, self.clock() + limit_ms / 1000))

    def allows(self, cost_ms: float) -> bool:
        """Return whether work that takes `cost_ms` would still be wanted and done in time."""
        return not self.cancelled() and self.remaining_ms() >= cost_ms


@dataclass(slots=True)
class CostModel:
    """Predicts the milliseconds of one forward pass from the times of earlier passes, by the rows that it computes.

    A pass cannot be interrupted, so a pass that is predicted to end too late is never started. The prediction is the
    best time seen for this size (or what other sizes imply) times the recent slowdown. One pass that the system
    interrupted barely raises the slowdown; sustained load soon does.
    """

    _least: dict[int, float] = field(default_factory=dict)  # by rows, rounded
    _slowdown: float = 1.0

    @property
    def measured(self) -> bool:
        """Whether any pass has been observed."""
        return bool(self._least)

    def predict_ms(self, rows: int) -> float:
        """Return the expected milliseconds of a pass."""
        return self._slowdown * self.best_ms(rows)

    def observe(self, rows: int, took_ms: float) -> None:
        """Record how long a pass took."""
        expected = self.best_ms(rows) if self._least else took_ms
        ratio = took_ms / max(expected, 0.01)
        most = MOST_SLOWDOWN * max(1.0, self._slowdown)
        self._slowdown += SMOOTHING * (min(max(ratio, LEAST_SLOWDOWN), most) - self._slowdown)
        size = _rounded(rows)
        self._least[size] = min(took_ms, self._least.get(size, took_ms))

    def decay(self) -> None:
        """Lower the prediction a little. A pass skipped as too slow is never measured, so it would stay skipped."""
        self._slowdown = max(LEAST_SLOWDOWN, DECAY * self._slowdown)

    def best_ms(self, rows: int) -> float:
        """Return the milliseconds of a pass on an idle machine.

        This is the lowest bound from any measured size: a smaller pass takes no longer, and half the cost scales with
        size. So a size that was measured only once, with its setup cost, is not overestimated.
        """
        if not self._least:
            return UNKNOWN_MS
        size = _rounded(rows)
        return min(took * max(1.0, 0.5 + 0.5 * size / known) for known, took in self._least.items())


@dataclass(slots=True)
class FinishMargin:
    """How many milliseconds to keep free for the work after the last pass.

    This is the longest recent time, which decays slowly, and never less than `least_ms`. That work takes longer on a
    busy machine, and a pass that was started too late cannot be stopped.
    """

    least_ms: float
    _worst_ms: float = 0.0

    def predict_ms(self) -> float:
        """Return milliseconds to keep free."""
        return max(self.least_ms, SPARE * self._worst_ms)

    def observe(self, took_ms: float) -> None:
        """Record how long cleaning and ranking took for one answer."""
        self._worst_ms = max(min(took_ms, MOST_SLOWDOWN * self.least_ms), FORGETTING * self._worst_ms)


def _rounded(rows: int) -> int:
    """Round up to 1, 2, or a multiple of 4 or, above 16, of 8. A few sizes are soon measured."""
    step = next((step for most, step in ((1, 1), (2, 2), (16, 4)) if rows <= most), 8)
    return max(1, -(-rows // step)) * step
