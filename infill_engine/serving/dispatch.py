"""Which request uses the one compute slot, and what the server is told meanwhile.

    reader thread   receive()   queues a message; answers at once if the model is not needed
    compute thread  run()       loads the engine, then works: infills of the client that has had the least time, then
                                what waits in `queues` for an idle moment

Infills in the `background` come after all others. One that is running is interrupted by any other infill, and started
again afterwards.

Invariants: every infill is answered exactly once; at most one infill of a document, background ones aside, waits or
runs; only the compute thread uses the engine; requests never interrupt a load.
"""

import gc
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from infill_engine.budget.deadline import Clock, Deadline, now
from infill_engine.models.runtime.allocator import release_freed
from infill_engine.serving.duty_cycle import DutyCycle
from infill_engine.serving.health.health import Health, probe
from infill_engine.serving.interface import EngineLike, Load, describe, ready_status
from infill_engine.serving.preview import previewing
from infill_engine.serving.protocol import (
    Alive,
    Answered,
    Cancel,
    CanvasPreview,
    Changed,
    Failure,
    Infill,
    Message,
    Shutdown,
    State,
    Status,
    Surround,
    Warm,
    Watch,
)
from infill_engine.serving.queues import Check, Deepen, Queues, Task, client_of, ends_for_text, gives_way, was_stopped
from infill_engine.serving.searching import go_on, search_after
from infill_engine.serving.shares import Shares, owner
from infill_engine.types import Answer, Reason

WARM_SECONDS = 20.0  # time limit for encoding a context ahead of time
RELEASE_EVERY = 64  # pieces of work; then, if no request waits, freed memory goes back to the system


@dataclass
class Dispatch:
    """One engine, one compute slot. `send` must be callable from both threads and must not block for long."""

    load: Load
    send: Callable[[Message], None]
    clock: Clock = now
    health: Health | None = None
    _state: State = State.LOADING
    _told: Status | None = None  # the last status that was sent about the engine
    _queues: Queues = field(init=False)
    _running: Task | None = None
    _read_last: Warm | None = None  # the last context that was read or asked about
    _closed: bool = False
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def __post_init__(self) -> None:
        self._queues = Queues(DutyCycle(self.clock), Shares(self.clock), self.health)

    def receive(self, message: Message) -> None:
        """Queue a message from the server. Called only by the reader thread."""
        with self._changed:
            match message:
                case Infill():
                    self._file(message)
                case Warm() if self._state is not State.FAILED and not self._closed:
                    if self._running is not None and ends_for_text(self._running.message, message.document):
                        self._withdraw(self._running, Reason.SUPERSEDED)
                    self._queues.warm(message)
                case Surround() if self._state is not State.FAILED and not self._closed:
                    if message.surroundings.name not in self._queues.counting:
                        self._queues.count(message.surroundings.name, Task(message))
                case Changed():
                    self._queues.end_search(message.document)
                    if self._running is not None and isinstance(self._running.message, Deepen):
                        self._withdraw(self._running, Reason.SUPERSEDED)
                case Cancel():
                    self._cancel(message.id)
                case Watch():
                    self._watch(message.id)
                case Shutdown():
                    self._close()
                case _:
                    pass
            self._changed.notify()

    def close(self) -> None:
        """Answer pending requests and let `run` return. A closed pipe means the same as a shutdown."""
        self.receive(Shutdown())

    def forget(self, client: str) -> None:
        """Drop what a client that has left wanted to have computed ahead of time, and its text."""
        with self._changed:
            self._queues.forget(client)
            if self._read_last is not None and owner(self._read_last.document) == client:
                self._read_last = None
            if self._running is not None and client_of(self._running) == client:
                self._withdraw(self._running, Reason.CANCELLED)

    def run(self) -> None:
        """Load the engine, then work until closed. Called only by the compute thread."""
        engine, done = self._load(), 0
        while (work := self._next()) is not None:
            if engine is not None:
                self._attempt(engine, work)
            done += 1
            if done % RELEASE_EVERY == 0 and not self._queues.waiting:
                release_freed()

    def _attempt(self, engine: EngineLike, work: Task) -> None:
        """Work, and charge the time. Whatever fails, the request is answered and the thread goes on."""
        began = self.clock()
        try:
            self._work(engine, work)
            self._tell_ready(engine)
        except Exception as fault:
            sentence = describe(fault)
            with self._changed:
                withdrawn, work.withdrawn = work.withdrawn, True
            if isinstance(work.message, Infill) and not withdrawn:
                self.send(Failure(work.message.id, sentence))
        with self._changed:
            self._queues.shares.charge(client_of(work), self.clock() - began)

    def _load(self) -> EngineLike | None:
        self.send(Status(State.LOADING))
        try:
            engine = self.load(lambda detail, fraction: self.send(Status(State.LOADING, detail, fraction)))
            ready_status(engine)  # fails for an engine that lacks something
        except Exception as fault:
            with self._changed:
                self._state = State.FAILED
            self.send(Status(State.FAILED, describe(fault)))
            return None
        release_freed()  # memory of files that were read, and of the warm-up
        gc.freeze()  # a full collection of what has been loaded takes 80 ms, for which an answer would wait
        with self._changed:
            self._state = State.READY
        self._tell_ready(engine)
        return engine

    def _tell_ready(self, engine: EngineLike) -> None:
        """Announce which model is ready, if that changed: when memory runs out, the engine switches models."""
        ready = ready_status(engine)
        if ready != self._told:
            if self.health is not None:
                self.health.start_over()
            self._told = ready
            self.send(ready)

    def _next(self) -> Task | None:
        with self._changed:
            self._running = None
            while not self._closed:
                self._running = self._queues.next()
                if self._running is not None:
                    return self._running
                self._changed.wait(self._queues.patience())
            return None

    def _work(self, engine: EngineLike, work: Task) -> None:
        message = work.message
        if isinstance(message, Warm) or (isinstance(message, Infill) and not message.background):
            self._read_last = Warm(message.document, message.request)
        match message:
            case Infill():
                self._infill(engine, work, message)
            case Warm():
                self._warm(engine, work, message)
            case Deepen():
                go_on(engine, message, self._queues.duty_cycle, self.clock, lambda: work.withdrawn, self.send)
            case Surround():
                self._count(engine, work, message)
            case Check():
                with self._queues.duty_cycle.spending():
                    probe(engine, self._queues.health, lambda: work.withdrawn)

    def _infill(self, engine: EngineLike, work: Task, message: Infill) -> None:
        deadline = Deadline(message.expires_at, self.clock, lambda: work.withdrawn or work.interrupted)
        outcome: Message
        try:
            if deadline.remaining_ms() <= 0:
                outcome = Answered(message.id, Answer(reason=Reason.DEADLINE))
            else:
                watch = previewing(
                    lambda: work.watched and not work.withdrawn,
                    lambda step, rows: self.send(CanvasPreview(message.id, step, rows)),
                )
                outcome = Answered(message.id, engine.answer(message.request, deadline, watch))
        except Exception as fault:
            outcome = Failure(message.id, describe(fault))
        with self._changed:
            if work.withdrawn:  # already answered when it was withdrawn
                outcome = Alive()
            elif work.interrupted and was_stopped(outcome) and deadline.remaining_ms() > 0:
                work.interrupted = False
                self._queues.resume(work, message.id)
                return
            elif isinstance(outcome, Answered) and not message.background:
                self._go_on(message, outcome.answer)
            work.withdrawn = True
        self.send(outcome)

    def _warm(self, engine: EngineLike, work: Task, message: Warm) -> None:
        try:
            engine.warm(message.request, Deadline(self.clock() + WARM_SECONDS, self.clock, lambda: work.withdrawn))
        finally:
            self.send(Alive())

    def _go_on(self, message: Infill, answer: Answer) -> None:
        """Queue what there was no time for: the rest of the text, and the rest of the search.

        Neither is wanted any more if newer text of the document waits to be read.
        """
        if self._closed or message.document in self._queues.warming:
            return
        if answer.unread:
            self._warm_later(message)
        if (search := search_after(message, answer, self.clock())) is not None:
            self._queues.deepening = search

    def _warm_later(self, message: Infill | Warm) -> None:
        """Queue text that there was no time to read, unless newer text of its document is queued."""
        if not self._closed and message.document not in self._queues.warming:
            self._queues.warm(Warm(message.document, message.request))

    def _count(self, engine: EngineLike, work: Task, message: Surround) -> None:
        """Count one piece of a text. The rest waits until there is no other work."""
        try:
            work.pieces = work.pieces or engine.surround(message.surroundings)
            next(work.pieces)
        except StopIteration:
            self._counted(message.surroundings.name)
            return
        with self._changed:
            if not self._closed:
                self._queues.count(message.surroundings.name, work)

    def _counted(self, name: str) -> None:
        """Called when a text is counted: the last context is read again, because that text may now contribute to it."""
        with self._changed:
            if self._read_last is not None and self._read_last.request.surroundings == name:
                self._warm_later(self._read_last)

    def _file(self, message: Infill) -> None:
        if self._closed or self._state is not State.READY:
            # A request does not wait for loading: the answer would be out of date.
            failed = self._closed or self._state is State.FAILED
            self._answer(message.id, Reason.WORKER_FAILED if failed else Reason.LOADING)
            return
        if (older := self._queues.infill(message)) is not None:
            self._withdraw(older, Reason.SUPERSEDED)
        if self._running is None:
            return
        running = self._running.message
        self._running.interrupted = isinstance(running, Infill) and running.background and not message.background
        if not self._running.interrupted and gives_way(running, message):
            self._withdraw(self._running, Reason.SUPERSEDED)

    def _cancel(self, request_id: int) -> None:
        for work in self._asked(request_id):
            self._queues.remove(work)
            self._withdraw(work, Reason.CANCELLED)

    def _watch(self, request_id: int) -> None:
        for work in self._asked(request_id):
            work.watched = True

    def _asked(self, request_id: int | None = None) -> list[Task]:
        """Return the work that waits or runs; with a number, only the request with that number."""
        works = [*self._queues.infills(), *([self._running] if self._running else [])]
        return works if request_id is None else [work for work in works if work.asks(request_id)]

    def _close(self) -> None:
        self._closed = True
        for work in self._asked():
            self._withdraw(work, Reason.CANCELLED)
        self._queues.clear()

    def _withdraw(self, work: Task, reason: Reason) -> None:
        if work.withdrawn:
            return
        work.withdrawn = True
        if isinstance(work.message, Infill):
            self._answer(work.message.id, reason)

    def _answer(self, request_id: int, reason: Reason) -> None:
        self.send(Answered(request_id, Answer(reason=reason)))
