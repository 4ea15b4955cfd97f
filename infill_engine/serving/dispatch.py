"""Which request uses the one compute slot, and what the server is told meanwhile.

    reader thread   receive()   queues a message; answers at once if the model is not needed
    compute thread  run()       loads the engine, then works: infills in order of arrival, warming when idle, and
                                counting, a piece at a time, when there is nothing else

Infills that are `aside` come after all others. One that is running is interrupted by any other infill, and started
again afterwards.

Invariants: every infill is answered exactly once; at most one infill of a document that is not aside waits or runs;
only the compute thread uses the engine; requests never interrupt a load.
"""

import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from infill_engine.budget.deadline import Clock, Deadline, now
from infill_engine.budget.work import Watch as WatchPasses
from infill_engine.errors import InfillError
from infill_engine.models.runtime.allocator import release_freed
from infill_engine.serving.preview import previewing
from infill_engine.serving.protocol import (
    Alive,
    Answered,
    Cancel,
    CanvasPreview,
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
from infill_engine.settings import WindowSettings
from infill_engine.types import Answer, InfillRequest, Reason, Surroundings

WARM_SECONDS = 20.0  # time limit for encoding a context ahead of time
RELEASE_EVERY = 64  # pieces of work; then, if no request waits, freed memory goes back to the system
COUNTED_TEXTS = 6  # texts that may wait; an engine keeps no more
MOST_ASIDE = 8  # that may wait
WARM_DOCUMENTS = 4  # contexts that may wait to be encoded; more would evict each other from the engine's cache


class EngineLike(Protocol):
    """The part of the engine that the worker needs."""

    name: str

    @property
    def device(self) -> str: ...

    @property
    def window(self) -> WindowSettings: ...

    @property
    def profile(self) -> str: ...

    def answer(self, request: InfillRequest, deadline: Deadline, watch: WatchPasses | None = None) -> Answer: ...

    def warm(self, request: InfillRequest, deadline: Deadline) -> None: ...

    def surround(self, surroundings: Surroundings) -> Iterator[None]: ...


Load = Callable[[Callable[[str, float], None]], EngineLike]


@dataclass(slots=True)
class _Work:
    """An infill, a context to warm or a text to count; whether it was answered or withdrawn, and whether it is watched.

    An infill that is aside and has to stop for another is `interrupted`. `pieces` is the rest of a count that has
    begun.
    """

    message: Infill | Warm | Surround
    withdrawn: bool = False
    watched: bool = False
    interrupted: bool = False
    pieces: Iterator[None] | None = None


@dataclass
class Dispatch:
    """One engine, one compute slot. `send` must be callable from both threads and must not block for long."""

    load: Load
    send: Callable[[Message], None]
    clock: Clock = now
    _state: State = State.LOADING
    _told: Status | None = None  # the last status that was sent about the engine
    _waiting: dict[str, _Work] = field(default_factory=dict)  # by document, in the order of arrival
    _aside: dict[str, _Work] = field(default_factory=dict)  # by the number of the request
    _warming: dict[str, _Work] = field(default_factory=dict)
    _counting: dict[str, _Work] = field(default_factory=dict)  # by the name of the text
    _running: _Work | None = None
    _read_last: Warm | None = None  # the last context that was read or asked about
    _closed: bool = False
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def receive(self, message: Message) -> None:
        """Queues a message from the server. Called only by the reader thread."""
        with self._changed:
            match message:
                case Infill():
                    self._file(message)
                case Warm() if self._state is not State.FAILED and not self._closed:
                    self._warming.pop(message.document, None)
                    if self._running is not None and _is_warming(self._running.message, message.document):
                        self._withdraw(self._running, Reason.SUPERSEDED)
                    _put(self._warming, message.document, _Work(message), WARM_DOCUMENTS)
                case Surround() if self._state is not State.FAILED and not self._closed:
                    if message.surroundings.name not in self._counting:
                        _put(self._counting, message.surroundings.name, _Work(message), COUNTED_TEXTS)
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
        """Answers pending requests and lets `run` return. A closed pipe means the same as a shutdown."""
        self.receive(Shutdown())

    def run(self) -> None:
        """Loads the engine, then works until closed. Called only by the compute thread."""
        engine = self._load()
        done = 0
        while (work := self._next()) is not None:
            if engine is not None:
                self._work(engine, work)
                self._tell_ready(engine)
            done += 1
            if done % RELEASE_EVERY == 0 and not self._waiting:
                release_freed()

    def _load(self) -> EngineLike | None:
        self.send(Status(State.LOADING))
        try:
            engine = self.load(lambda detail, fraction: self.send(Status(State.LOADING, detail, fraction)))
        except Exception as fault:
            with self._changed:
                self._state = State.FAILED
            self.send(Status(State.FAILED, _describe(fault)))
            return None
        release_freed()  # memory of files that were read, and of the warm-up
        with self._changed:
            self._state = State.READY
        self._tell_ready(engine)
        return engine

    def _tell_ready(self, engine: EngineLike) -> None:
        """Announces which model is ready, if that changed: when memory runs out, the engine switches models."""
        ready = Status(State.READY, engine.profile, 1.0, engine.name, engine.device, engine.window)
        if ready != self._told:
            self._told = ready
            self.send(ready)

    def _next(self) -> _Work | None:
        with self._changed:
            self._running = None
            while not self._closed:
                for queue in (self._waiting, self._aside, self._warming, self._counting):
                    if queue:
                        self._running = queue.pop(next(iter(queue)))
                        return self._running
                self._changed.wait()
            return None

    def _work(self, engine: EngineLike, work: _Work) -> None:
        message = work.message
        if isinstance(message, Warm) or (isinstance(message, Infill) and not message.aside):
            self._read_last = Warm(message.document, message.request)
        if isinstance(message, Warm):
            self._warm(engine, work, message)
            return
        if isinstance(message, Surround):
            self._count(engine, work, message)
            return
        deadline = Deadline(message.expires_at, self.clock, lambda: work.withdrawn or work.interrupted)
        outcome: Message
        try:
            if deadline.remaining_ms() <= 0:
                outcome = Answered(message.id, Answer(reason=Reason.DEADLINE))
            else:
                outcome = Answered(message.id, engine.answer(message.request, deadline, self._watcher(work, message)))
        except Exception as fault:
            outcome = Failure(message.id, _describe(fault))
        with self._changed:
            if work.withdrawn:  # already answered when it was withdrawn
                outcome = Alive()
            elif work.interrupted and _was_stopped(outcome) and deadline.remaining_ms() > 0:
                work.interrupted = False
                self._aside = {str(message.id): work, **self._aside}
                return
            elif isinstance(outcome, Answered) and outcome.answer.unread and not message.aside:
                self._warm_later(message)
            work.withdrawn = True
        self.send(outcome)

    def _watcher(self, work: _Work, message: Infill) -> WatchPasses:
        return previewing(
            lambda: work.watched and not work.withdrawn,
            lambda step, rows: self.send(CanvasPreview(message.id, step, rows)),
        )

    def _warm(self, engine: EngineLike, work: _Work, message: Warm) -> None:
        try:
            engine.warm(message.request, Deadline(self.clock() + WARM_SECONDS, self.clock, lambda: work.withdrawn))
        except Exception as fault:
            _describe(fault)
        self.send(Alive())

    def _warm_later(self, message: Infill | Warm) -> None:
        """Queues the text that there was no time to read, unless newer text of that document is already queued."""
        if not self._closed and message.document not in self._warming:
            _put(self._warming, message.document, _Work(Warm(message.document, message.request)), WARM_DOCUMENTS)

    def _count(self, engine: EngineLike, work: _Work, message: Surround) -> None:
        """Counts one piece of a text. The rest waits until there is no other work."""
        try:
            work.pieces = work.pieces or engine.surround(message.surroundings)
            next(work.pieces)
        except StopIteration:
            self._counted(message.surroundings.name)
            return
        except Exception as fault:
            _describe(fault)
            return
        with self._changed:
            if not self._closed:
                _put(self._counting, message.surroundings.name, work, COUNTED_TEXTS)

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
        if message.aside:
            if len(self._aside) == MOST_ASIDE:
                self._withdraw(self._aside.pop(next(iter(self._aside))), Reason.SUPERSEDED)
            self._aside[str(message.id)] = _Work(message)
            if self._running is not None and isinstance(self._running.message, Warm):
                self._withdraw(self._running, Reason.SUPERSEDED)
            return
        if (older := self._waiting.pop(message.document, None)) is not None:
            self._withdraw(older, Reason.SUPERSEDED)
        if self._running is not None:
            self._running.interrupted = isinstance(self._running.message, Infill) and self._running.message.aside
            if not self._running.interrupted and _gives_way(self._running.message, message):
                self._withdraw(self._running, Reason.SUPERSEDED)
        self._waiting[message.document] = _Work(message)

    def _cancel(self, request_id: int) -> None:
        work = self._infill(request_id)
        if work is not None:
            for queue in (self._waiting, self._aside):
                for name in [name for name, other in queue.items() if other is work]:
                    del queue[name]
            self._withdraw(work, Reason.CANCELLED)

    def _watch(self, request_id: int) -> None:
        work = self._infill(request_id)
        if work is not None:
            work.watched = True

    def _infill(self, request_id: int) -> _Work | None:
        for work in self._asked():
            if isinstance(work.message, Infill) and work.message.id == request_id:
                return work
        return None

    def _asked(self) -> list[_Work]:
        """The work that waits or runs."""
        return [*self._waiting.values(), *self._aside.values(), *([self._running] if self._running else [])]

    def _close(self) -> None:
        self._closed = True
        for work in self._asked():
            self._withdraw(work, Reason.CANCELLED)
        self._waiting.clear()
        self._aside.clear()
        self._warming.clear()
        self._counting.clear()

    def _withdraw(self, work: _Work, reason: Reason) -> None:
        if work.withdrawn:
            return
        work.withdrawn = True
        if isinstance(work.message, Infill):
            self._answer(work.message.id, reason)

    def _answer(self, request_id: int, reason: Reason) -> None:
        self.send(Answered(request_id, Answer(reason=reason)))


def _put(queue: dict[str, _Work], name: str, work: _Work, most: int) -> None:
    """Queues work. Drops the oldest if there is more than `most`."""
    queue[name] = work
    if len(queue) > most:
        del queue[next(iter(queue))]


def _gives_way(running: Infill | Warm | Surround, newer: Infill) -> bool:
    """Whether running work ends for a newer infill. Other documents' infills do not; a piece of counting is short."""
    return isinstance(running, Warm) or (isinstance(running, Infill) and running.document == newer.document)


def _was_stopped(outcome: Message) -> bool:
    return isinstance(outcome, Answered) and outcome.answer.reason is Reason.CANCELLED


def _is_warming(running: Infill | Warm | Surround, document: str) -> bool:
    return isinstance(running, Warm) and running.document == document


def _describe(fault: Exception) -> str:
    """A fault in words for the user. Quotes only our own errors: any other text may contain the user's code."""
    if isinstance(fault, InfillError):
        return str(fault)
    frames = traceback.format_tb(fault.__traceback__)
    sys.stderr.write(f"infill worker: {type(fault).__name__}\n{''.join(frames)}")
    return f"The engine met an unexpected {type(fault).__name__}; the worker's log shows where."
