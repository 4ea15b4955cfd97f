"""The work that waits for the compute slot: the one table of requests, in the order of urgency.

waiting      infills, one for each document
background   requests for alternatives and next edits, which have lower priority
prefetching  contexts to be read before a request names them
searching    the search that continues after an answer, as far as the duty cycle allows, or until it is too late to show
             what it finds; if the answer showed nothing, it goes before next edits
indexing     texts of projects to be indexed, a piece at a time
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from infill_engine.serving.duty_cycle import DutyCycle, Shares
from infill_engine.serving.protocol import (
    Background,
    IndexProject,
    Infill,
    NextEdit,
    Prefetch,
    Request,
)
from infill_engine.types import Surroundings

IDLE_SECONDS = 0.5  # between two looks at the duty cycle
MOST_INDEXED = 6  # texts that may wait; an engine keeps no more
MOST_BACKGROUND = 8  # that may wait
MOST_PREFETCHES = 4  # contexts that may wait to be encoded; more would evict each other from the engine's cache


@dataclass(frozen=True, slots=True)
class ContinueSearch:
    """Continue the search for an infill that has been answered.

    The user may still be shown what is found until `wanted_until`. Until then, an `urgent` search does not wait for the
    duty cycle, and it goes before next edits: its answer showed nothing.
    """

    infill: Infill
    wanted_until: float
    urgent: bool

    @property
    def document(self) -> str:
        """The client's name of the document."""
        return self.infill.document


Document = tuple[int, str]  # a client and the name that it gave the document


@dataclass(slots=True)
class Task:
    """A piece of work. `client` is 0 if it is for all clients, or if there is only one.

    `arrived` is when its message arrived, in seconds of the dispatch's clock. Work is `over` once it has been answered
    or withdrawn. `previewed` work sends its steps. A request in the background that has to stop for an infill is
    `interrupted`; it starts again later. `pieces` is the rest of an indexing that has begun.
    """

    message: Request | Prefetch | ContinueSearch | IndexProject
    client: int = 0
    arrived: float = 0.0
    over: bool = False
    previewed: bool = False
    interrupted: bool = False
    pieces: Iterator[None] | None = None

    @property
    def document(self) -> Document | None:
        """The client's document that the work is for; None if it is for none."""
        return None if isinstance(self.message, IndexProject) else (self.client, self.message.document)

    @property
    def in_background(self) -> bool:
        """Whether this is a request with lower priority than every infill."""
        return isinstance(self.message, Background)

    @property
    def project_name(self) -> str:
        """The name of the text around the document that the work reads; "" if there is none."""
        read = self.reads
        return "" if read is None else read.project_name

    @property
    def reads(self) -> Surroundings | None:
        """The text that the work reads, as `Prefetch` does; None if it is another work."""
        match self.message:
            case Infill(request=request):
                return request
            case Prefetch(around=around):
                return around
            case _:
                return None

    def gives_way_to(self, newer: "Task") -> bool:
        """Return whether this ends for a newer request.

        Infills of other documents, background requests and indexing go on. An urgent search goes on if the newer
        request is a next edit.
        """
        match self.message:
            case Infill():
                return not newer.in_background and self.document == newer.document
            case ContinueSearch(urgent=urgent):
                return not (urgent and isinstance(newer.message, NextEdit))
            case _:
                return isinstance(self.message, Prefetch)

    def ends_for_text(self, document: Document) -> bool:
        """Return whether this ends for newer text of a document: what reads its older text, and any search."""
        reads = isinstance(self.message, Prefetch) and self.document == document
        return reads or isinstance(self.message, ContinueSearch)

    def searches_in(self, document: Document) -> bool:
        """Return whether this is a search at a document's older text."""
        return isinstance(self.message, ContinueSearch) and self.document == document


@dataclass(slots=True)
class Queues:
    """All work that waits or runs. Not thread-safe.

    An engine keeps predictions for one prompt only, so one search continues.
    """

    duty_cycle: DutyCycle
    shares: Shares = field(default_factory=Shares)
    waiting: dict[Document, Task] = field(default_factory=dict)  # in the order of arrival
    background: list[Task] = field(default_factory=list)
    prefetching: dict[Document, Task] = field(default_factory=dict)
    indexing: dict[str, Task] = field(default_factory=dict)  # by the name of the text
    searching: Task | None = None
    running: Task | None = None

    def next(self) -> Task | None:
        """Return the most urgent work that may run now, which runs then; None if there is none."""
        self.running = self._next()
        return self.running

    def patience(self) -> float | None:
        """Return how long to wait for a message when nothing may run now; None without limit.

        A search may have to wait for the duty cycle.
        """
        return IDLE_SECONDS if self.searching is not None else None

    def _next(self) -> Task | None:
        for tasks in (self.waiting.values(), self._before_next_edits(), self.background, self.prefetching.values()):
            if tasks:
                task = min(tasks, key=lambda task: self.shares.used(task.client))
                self.remove(task)
                return task
        if (search := self.searching) is not None:
            assert isinstance(search.message, ContinueSearch)
            if search.message.urgent or self.duty_cycle.left_seconds() > 0:
                self.searching = None
                return search
        return self.indexing.pop(next(iter(self.indexing))) if self.indexing else None

    def _before_next_edits(self) -> list[Task]:
        """Return the search that next edits wait for, if they are all that waits in the background."""
        search = self.searching
        waited_for = search is not None and not any(search.gives_way_to(task) for task in self.background)
        return [search] if search is not None and self.background and waited_for else []

    def prefetch(self, task: Task) -> None:
        """Queue a context. It replaces an older one of its document, and a search at its older text ends."""
        document = task.document
        assert document is not None
        self.prefetching.pop(document, None)
        self.end_search(document)
        _put(self.prefetching, document, task, MOST_PREFETCHES)

    def prefetch_again(self, task: Task) -> None:
        """Queue the context of work that did not read all of it, unless newer text of its document is queued."""
        around, document = task.reads, task.document
        if around is not None and document is not None and not self.prefetches_newer(task):
            self.prefetch(Task(Prefetch(document[1], around), task.client, task.arrived))

    def prefetches_newer(self, task: Task) -> bool:
        """Return whether newer text of a work's document waits to be read."""
        other = None if task.document is None else self.prefetching.get(task.document)
        return other is not None and other.arrived >= task.arrived

    def index(self, name: str, task: Task) -> None:
        """Queue a text to be indexed, or the rest of it."""
        _put(self.indexing, name, task, MOST_INDEXED)

    def request(self, task: Task) -> Task | None:
        """Queue a request. Return the one that it replaces or that exceeds the limit, if any."""
        if task.in_background:
            self.background.append(task)
            return self.background.pop(0) if len(self.background) > MOST_BACKGROUND else None
        document = task.document
        assert document is not None
        self.end_search(document)
        older = self.waiting.pop(document, None)
        self.waiting[document] = task
        return older

    def resume(self, task: Task) -> None:
        """Queue an interrupted request before the others in the background."""
        self.background.insert(0, task)

    def unanswered(self, client: int | None = None, request_id: int | None = None) -> list[Task]:
        """Return the requests that wait or run and have no answer; with a client and a number, only theirs."""
        tasks = [*self.waiting.values(), *self.background, *([self.running] if self.running is not None else [])]
        return [
            task
            for task in tasks
            if isinstance(task.message, Request)
            and not task.over
            and client in (None, task.client)
            and request_id in (None, task.message.id)
        ]

    def remove(self, task: Task) -> None:
        """Remove a request or a context."""
        for queue in (self.waiting, self.prefetching):
            if task.document is not None and queue.get(task.document) is task:
                del queue[task.document]
        self.background = [other for other in self.background if other is not task]
        if self.searching is task:
            self.searching = None

    def end_search(self, document: Document) -> None:
        """Remove the search at a document's older text."""
        if self.searching is not None and self.searching.document == document:
            self.searching = None

    def forget(self, client: int) -> None:
        """Remove what a client that has left wanted. Its requests are cancelled one by one."""
        self.prefetching = {document: task for document, task in self.prefetching.items() if task.client != client}
        if self.searching is not None and self.searching.client == client:
            self.searching = None
        self.shares.forget(client)

    def clear(self) -> None:
        """Remove everything."""
        for queue in (self.waiting, self.background, self.prefetching, self.indexing):
            queue.clear()
        self.searching = None


K = TypeVar("K")


def _put(queue: dict[K, Task], name: K, task: Task, most: int) -> None:
    """Queue work. Drop the oldest if there is more than `most`."""
    queue[name] = task
    if len(queue) > most:
        del queue[next(iter(queue))]
