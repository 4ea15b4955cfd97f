"""Distinguishes a hung worker from a slow one and from a computer that was suspended.

Both processes' clocks may jump by hours when a laptop lid is closed, so a time difference alone is never evidence. If
the watchdog itself was not polled for a while, it was suspended too and starts over.
"""

from dataclasses import dataclass

PATIENCE_SECONDS = 10.0  # without a sign of life since the first missed deadline
MISSES = 3  # missed deadlines in that time; fewer could all fall into one long encoding
LOOK_SECONDS = 1.0  # how often to call `hangs` while there are misses
SLEPT_SECONDS = 5.0  # a longer gap between two polls means that this process was suspended


@dataclass(slots=True)
class Watchdog:
    """The evidence against one worker. Times are in seconds of `deadline.now`."""

    patience: float = PATIENCE_SECONDS
    misses: int = 0  # missed deadlines since the last sign of life
    _since: float = 0.0
    _looked: float = 0.0

    def missed(self, now: float) -> None:
        """A request's deadline passed without an answer."""
        if not self.misses:
            self._since = self._looked = now
        self.misses += 1

    def alive(self) -> None:
        """A message arrived that only a worker with a running compute thread sends."""
        self.misses = 0

    def hangs(self, now: float) -> bool:
        """Return whether to give the worker up. Call it regularly."""
        slept = now - self._looked > SLEPT_SECONDS
        self._looked = now
        if slept:
            self.misses = 0
        return self.misses >= MISSES and now - self._since >= self.patience
