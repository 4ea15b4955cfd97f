"""How much of the device's time each client has used recently."""

from dataclasses import dataclass, field

from infill_engine.budget.deadline import Clock, now

HALF_LIFE_SECONDS = 10.0


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
