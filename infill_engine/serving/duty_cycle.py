"""How much of the time may be spent on work that nobody has asked for, and how the clients share the rest."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psutil

from infill_engine.budget.deadline import Clock, now

SHARE, PERIOD_SECONDS = 0.25, 10.0
HALF_LIFE_SECONDS = 10.0


@dataclass(slots=True)
class DutyCycle:
    """Allows computing for a `share` of every period. Unused time is kept for one period at most (a token bucket)."""

    clock: Clock = now
    share: float = SHARE
    period_seconds: float = PERIOD_SECONDS
    _left: float = field(init=False)  # seconds of computing, at the time `_since`
    _since: float = field(init=False)

    def __post_init__(self) -> None:
        self._left, self._since = self._most, self.clock()

    @property
    def _most(self) -> float:
        return self.share * self.period_seconds

    def left_seconds(self) -> float:
        """Return the seconds that may be spent now; 0 on battery, if the system reports that."""
        time = self.clock()
        self._left = min(self._most, self._left + self.share * (time - self._since))
        self._since = time
        return 0.0 if self._left <= 0 or on_battery() else self._left

    def spend(self, seconds: float) -> None:
        """Record computing that has ended now. It may exceed what was left; then the next one waits longer."""
        self.left_seconds()
        self._left -= seconds

    @contextmanager
    def spending(self) -> Iterator[None]:
        """Record the computing inside."""
        began = self.clock()
        try:
            yield
        finally:
            self.spend(self.clock() - began)


@dataclass(slots=True)
class Shares:
    """Seconds that clients have used; they count half as much every `HALF_LIFE_SECONDS`."""

    clock: Clock = now
    _used: dict[int, tuple[float, float]] = field(default_factory=dict)  # seconds, at a time

    def used(self, client: int) -> float:
        """Return seconds that still count."""
        seconds, since = self._used.get(client, (0.0, 0.0))
        return float(seconds * 0.5 ** ((self.clock() - since) / HALF_LIFE_SECONDS)) if seconds else 0.0

    def charge(self, client: int, seconds: float) -> None:
        """Record that work for a client took so long."""
        self._used[client] = (self.used(client) + seconds, self.clock())

    def forget(self, client: int) -> None:
        """The client has left."""
        self._used.pop(client, None)


def on_battery() -> bool:
    """Return whether the machine runs on battery; False where the system does not tell."""
    try:
        battery = psutil.sensors_battery()
    except (AttributeError, OSError, RuntimeError):  # no such call, or no such files, on this system
        return False
    return battery is not None and battery.power_plugged is False
