"""Tells a worker that hangs from one that is slow, and from a computer that has slept.

The worker's clock and ours may both jump by hours when a lid is closed. So nobody is accused by a difference of times
alone: a watch that finds it has not been asked for a while was asleep itself and begins anew.
"""

from dataclasses import dataclass

PATIENCE_SECONDS = 10.0  # without a sign of life after the first deadline was missed
MISSES = 3  # deadlines in that time; fewer may have fallen into one long encoding
LOOK_SECONDS = 1.0  # how often to ask `hangs` while there are misses
SLEPT_SECONDS = 5.0  # between two looks; more than that, and we did not run


@dataclass(slots=True)
class Watchdog:
    """What is known against one worker. Times are in seconds of `deadline.now`."""

    patience: float = PATIENCE_SECONDS
    misses: int = 0  # deadlines since the last sign of life
    _since: float = 0.0
    _looked: float = 0.0

    def missed(self, now: float) -> None:
        """A request's deadline has passed without an answer."""
        if not self.misses:
            self._since = self._looked = now
        self.misses += 1

    def alive(self) -> None:
        """Something came that only a worker sends whose compute thread moves."""
        self.misses = 0

    def hangs(self, now: float) -> bool:
        """Whether it is time to give the worker up. To be asked regularly."""
        slept = now - self._looked > SLEPT_SECONDS
        self._looked = now
        if slept:
            self.misses = 0
        return self.misses >= MISSES and now - self._since >= self.patience
