"""The work that waits for the compute slot, in the order of urgency.

waiting      infills, one for each document
background   infills that give way to those
warming      contexts to be read ahead of time
deepening    the search that goes on after an answer, as far as the duty cycle allows, or until it is too late to show
             what it finds
counting     texts to be counted, a piece at a time
probing      a probe of the process's health, after a quiet moment
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from infill_engine.serving.duty_cycle import DutyCycle
from infill_engine.serving.health.health import Health
from infill_engine.serving.protocol import Answered, Infill, Message, Surround, Warm
from infill_engine.serving.shares import Shares, owner
from infill_engine.types import InfillRequest, Reason

IDLE_SECONDS = 0.5  # between two looks at the duty cycle
COUNTED_TEXTS = 6  # texts that may wait; an engine keeps no more
MOST_BACKGROUND = 8  # that may wait
WARM_DOCUMENTS = 4  # contexts that may wait to be encoded; more would evict each other from the engine's cache


@dataclass(frozen=True, slots=True)
class Deepen:
    """Go on with the search for a request that has been answered.

    `late` is the client's number for what is found until `wanted_until`; see `Infill`. Until then, an `urgent` search
    does not wait for the duty cycle: its answer showed nothing.
    """

    document: str
    request: InfillRequest
    late: int = 0
    wanted_until: float = 0.0
    urgent: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """Probe the process: see `health`."""


Work = Infill | Warm | Deepen | Surround | Check


@dataclass(slots=True)
class Task:
    """A piece of work; whether it was answered or withdrawn, and whether it is watched.

    An infill in the background that has to stop for another is `interrupted`. `pieces` is the rest of a count that has
    begun.
    """

    message: Work
    withdrawn: bool = False
    watched: bool = False
    interrupted: bool = False
    pieces: Iterator[None] | None = None

    def asks(self, request_id: int) -> bool:
        """Return whether this is the infill with that number."""
        return isinstance(self.message, Infill) and self.message.id == request_id


@dataclass(slots=True)
class Queues:
    """All work that waits. Not thread-safe. An engine keeps predictions for one prompt only, so one search goes on."""

    duty_cycle: DutyCycle
    shares: Shares = field(default_factory=Shares)
    health: Health | None = None  # nothing is probed without it
    waiting: dict[str, Task] = field(default_factory=dict)  # by document, in the order of arrival
    background: dict[str, Task] = field(default_factory=dict)  # by the number of the request
    warming: dict[str, Task] = field(default_factory=dict)  # by document
    counting: dict[str, Task] = field(default_factory=dict)  # by the name of the text
    deepening: Deepen | None = None

    def next(self) -> Task | None:
        """Remove and return the most urgent work that may run now; None if there is none."""
        found = self._next()
        if self.health is None:
            return found
        if found is not None:
            self.health.worked()
            return found
        wait = self.health.seconds_to_probe()
        due = wait is not None and wait <= 0 and self.duty_cycle.left_seconds() > 0
        return Task(Check()) if due else None

    def patience(self) -> float | None:
        """Return how long to wait for a message when nothing may run now; None without limit.

        A search and a probe may have to wait for the duty cycle.
        """
        if self.deepening is not None:
            return IDLE_SECONDS
        wait = self.health.seconds_to_probe() if self.health is not None else None
        return IDLE_SECONDS if wait is not None and wait <= 0 else wait

    def _next(self) -> Task | None:
        for queue in (self.waiting, self.background, self.warming):
            if queue:
                return queue.pop(min(queue, key=lambda name: self.shares.used(client_of(queue[name]))))
        if self.deepening is not None and (self.deepening.urgent or self.duty_cycle.left_seconds() > 0):
            message, self.deepening = self.deepening, None
            return Task(message)
        return self.counting.pop(next(iter(self.counting))) if self.counting else None

    def warm(self, message: Warm) -> None:
        """Queue a context. It replaces an older one of its document, and a search at its older text ends."""
        self.warming.pop(message.document, None)
        self.end_search(message.document)
        _put(self.warming, message.document, Task(message), WARM_DOCUMENTS)

    def count(self, name: str, task: Task) -> None:
        """Queue a text to be counted, or the rest of it."""
        _put(self.counting, name, task, COUNTED_TEXTS)

    def infill(self, message: Infill) -> Task | None:
        """Queue an infill. Return the one that it replaces or that is one too many, if any."""
        if message.background:
            oldest = (
                self.background.pop(next(iter(self.background))) if len(self.background) == MOST_BACKGROUND else None
            )
            self.background[str(message.id)] = Task(message)
            return oldest
        self.end_search(message.document)
        older = self.waiting.pop(message.document, None)
        self.waiting[message.document] = Task(message)
        return older

    def resume(self, task: Task, request_id: int) -> None:
        """Queue an interrupted infill before the others in the background."""
        self.background = {str(request_id): task, **self.background}

    def infills(self) -> list[Task]:
        """Return the infills that wait."""
        return [*self.waiting.values(), *self.background.values()]

    def remove(self, task: Task) -> None:
        """Remove an infill."""
        for queue in (self.waiting, self.background):
            for name in [name for name, other in queue.items() if other is task]:
                del queue[name]

    def end_search(self, document: str) -> None:
        """Remove the search at a document's older text."""
        if self.deepening is not None and self.deepening.document == document:
            self.deepening = None

    def forget(self, client: str) -> None:
        """Remove what a client that has left wanted. Its infills are cancelled one by one."""
        for document in [document for document in self.warming if owner(document) == client]:
            del self.warming[document]
        if self.deepening is not None and owner(self.deepening.document) == client:
            self.deepening = None
        self.shares.forget(client)

    def clear(self) -> None:
        """Remove everything."""
        for queue in (self.waiting, self.background, self.warming, self.counting):
            queue.clear()
        self.deepening = None


def client_of(task: Task) -> str:
    """Return the client that a piece of work is for; counted texts belong to none."""
    return "" if isinstance(task.message, Surround | Check) else owner(task.message.document)


def _put(queue: dict[str, Task], name: str, task: Task, most: int) -> None:
    """Queue work. Drop the oldest if there is more than `most`."""
    queue[name] = task
    if len(queue) > most:
        del queue[next(iter(queue))]


def gives_way(running: Work, newer: Infill) -> bool:
    """Whether running work ends for a newer infill. Other documents' infills do not; a piece of counting is short."""
    if isinstance(running, Infill):
        return running.document == newer.document and not newer.background
    return isinstance(running, Warm | Deepen | Check)


def ends_for_text(running: Work, document: str) -> bool:
    """Return whether running work ends for newer text of a document: what reads its older text, and any search."""
    return isinstance(running, Deepen) or (isinstance(running, Warm) and running.document == document)


def was_stopped(outcome: Message) -> bool:
    """Return whether an infill ended because it was cancelled."""
    return isinstance(outcome, Answered) and outcome.answer.reason is Reason.CANCELLED
