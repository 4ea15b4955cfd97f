"""How much of the device's time each client has used recently."""

from dataclasses import dataclass, field

from infill_engine.budget.deadline import Clock, now

HALF_LIFE_SECONDS = 10.0
SEPARATOR = "\0"  # between a client and its document; see `owned`


def owned(client: int, document: str) -> str:
    """Return the name of a client's document, distinct from those of all other clients."""
    return f"{client}{SEPARATOR}{document}"


def disowned(name: str) -> tuple[int, str]:
    """Return the client and the document of a name by `owned`."""
    client, _, document = name.partition(SEPARATOR)
    return int(client), document


def owner(document: str) -> str:
    """Return the client whose document this is."""
    return document.partition(SEPARATOR)[0]


@dataclass(slots=True)
class Shares:
    """Seconds that clients have used; they count half as much every `HALF_LIFE_SECONDS`."""

    clock: Clock = now
    _used: dict[str, tuple[float, float]] = field(default_factory=dict)  # seconds, at a time

    def used(self, client: str) -> float:
        """Return seconds that still count."""
        seconds, since = self._used.get(client, (0.0, 0.0))
        return float(seconds * 0.5 ** ((self.clock() - since) / HALF_LIFE_SECONDS)) if seconds else 0.0

    def charge(self, client: str, seconds: float) -> None:
        """Record that work for a client took so long."""
        self._used[client] = (self.used(client) + seconds, self.clock())

    def forget(self, client: str) -> None:
        """The client has left."""
        self._used.pop(client, None)
