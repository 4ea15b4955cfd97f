"""Which request uses the one compute slot, and what the server is told meanwhile.

    reader thread   receive()   queues a message; answers at once if the model is not needed
    compute thread  run()       loads the engine, then works: infills of the client that has had the least time, then
                                what waits in `queues` for an idle moment

Requests for alternatives and next edits come after all infills. An infill interrupts them, and they start again. Next
edits also come after the search that continues for an answer that showed nothing.

Invariants: every request is answered exactly once; at most one infill of a document waits or runs; only the compute
thread uses the engine; requests never interrupt a load.
"""

import gc
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from infill_engine.budget.deadline import Clock, Deadline, now
from infill_engine.models.runtime.allocator import release_freed
from infill_engine.serving.computing import compute, was_stopped
from infill_engine.serving.duty_cycle import DutyCycle, Shares
from infill_engine.serving.preview import previewing
from infill_engine.serving.protocol import (
    Alive,
    Alternatives,
    Answered,
    AnswerMessage,
    Cancel,
    CanvasPreview,
    DocumentChanged,
    Failure,
    IndexProject,
    Infill,
    Message,
    NextEdit,
    Prefetch,
    Request,
    SendPreviews,
    Shutdown,
    State,
    Status,
    no_answer,
)
from infill_engine.serving.queues import ContinueSearch, Queues, Task
from infill_engine.serving.searching import continue_search, search_after, shows
from infill_engine.serving.starting import Load, describe, ready_status
from infill_engine.types import Answer, Reason

if TYPE_CHECKING:
    from infill_engine.engine.engine import Engine

MOST_ASKED = 64  # requests of one client that have no answer
PREFETCH_SECONDS = 20.0  # time limit for encoding a context ahead of time
RELEASE_EVERY = 64  # pieces of work; then, if no request waits, freed memory goes back to the system


@dataclass
class Dispatch:
    """One engine, one compute slot.

    `send` gets each message with the task that it is about; None if it is for all clients. It must be callable from
    both threads and must not block for long.
    """

    load: Load
    send: Callable[[Message, Task | None], None]
    clock: Clock = now
    status: Status = field(default_factory=lambda: Status(State.LOADING))  # of the engine; set before it is sent
    _queues: Queues = field(init=False)
    _last_read: Task | None = None  # the last work that read a context
    _closed: bool = False
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def __post_init__(self) -> None:
        self._queues = Queues(DutyCycle(self.clock), Shares(self.clock))

    def receive(self, message: Message, client: int = 0) -> None:
        """Queue a message from a client. Clients choose their numbers of requests and names of documents themselves."""
        with self._changed:
            match message:
                case Infill() | Alternatives() | NextEdit():
                    self._file(Task(message, client, self.clock()))
                case Prefetch() if self.status.state is not State.FAILED and not self._closed:
                    self._end_running(lambda running: running.ends_for_text((client, message.document)))
                    self._queues.prefetch(Task(message, client, self.clock()))
                case IndexProject() if self.status.state is not State.FAILED and not self._closed:
                    if message.project_text.name not in self._queues.indexing:
                        self._queues.index(message.project_text.name, Task(message))
                case DocumentChanged():
                    self._queues.end_search((client, message.document))
                    self._end_running(lambda running: running.searches_in((client, message.document)))
                case Cancel():
                    self._cancel(client, message.id)
                case SendPreviews():
                    for task in self._queues.unanswered(client, message.id):
                        task.previewed = True
                case Shutdown():
                    self._close()
            self._changed.notify()

    def close(self) -> None:
        """Answer pending requests and let `run` return. A closed pipe means the same as a shutdown."""
        self.receive(Shutdown())

    def forget(self, client: int) -> None:
        """Drop everything that a client that has left wanted, and its text."""
        with self._changed:
            self._cancel(client)
            self._queues.forget(client)
            if self._last_read is not None and self._last_read.client == client:
                self._last_read = None
            self._end_running(lambda running: running.client == client)

    def unanswered(self) -> int:
        """Return how many requests have no answer."""
        with self._changed:
            return len(self._queues.unanswered())

    def run(self) -> None:
        """Load the engine, then work until closed. Called only by the compute thread."""
        engine, done = self._load(), 0
        while (task := self._next()) is not None:
            if engine is not None:
                self._attempt(engine, task)
            done += 1
            if done % RELEASE_EVERY == 0 and not self._queues.waiting:
                release_freed()

    def _attempt(self, engine: "Engine", task: Task) -> None:
        """Work, and charge the time. Whatever fails, the request is answered and the thread goes on."""
        began = self.clock()
        try:
            self._work(engine, task)
            self._tell_ready(engine)
        except Exception as fault:
            sentence = describe(fault)
            with self._changed:
                was_over, task.over = task.over, True
            if isinstance(task.message, Request) and not was_over:
                self.send(Failure(task.message.id, sentence), task)
        with self._changed:
            self._queues.shares.charge(task.client, self.clock() - began)

    def _load(self) -> "Engine | None":
        self._tell(Status(State.LOADING))
        try:
            engine = self.load(lambda detail, fraction: self._tell(Status(State.LOADING, detail, fraction)))
            ready_status(engine)  # fails for an engine that lacks something
        except Exception as fault:
            self._tell(Status(State.FAILED, describe(fault)))
            return None
        release_freed()  # memory of files that were read, and of the warm-up
        gc.freeze()  # a full collection of what has been loaded takes 80 ms, for which an answer would wait
        self._tell_ready(engine)
        return engine

    def _tell_ready(self, engine: "Engine") -> None:
        """Announce which model is ready, if that changed: when memory runs out, the engine switches models."""
        ready = ready_status(engine)
        if ready != self.status:
            self._tell(ready)

    def _tell(self, status: Status) -> None:
        with self._changed:
            self.status = status
        self.send(status, None)

    def _next(self) -> Task | None:
        with self._changed:
            self._queues.running = None
            while not self._closed:
                if (task := self._queues.next()) is not None:
                    return task
                self._changed.wait(self._queues.patience())
            return None

    def _work(self, engine: "Engine", task: Task) -> None:
        message = task.message
        if task.reads is not None:
            self._last_read = task
        match message:
            case Infill() | Alternatives() | NextEdit():
                self._answer(engine, task, message)
            case Prefetch():
                self._prefetch(engine, task, message)
            case ContinueSearch():
                self._continue_search(engine, task, message)
            case IndexProject():
                self._index(engine, task, message)

    def _answer(self, engine: "Engine", task: Task, request: Request) -> None:
        deadline = Deadline(request.expires_at, self.clock, lambda: task.over or task.interrupted)
        observer = previewing(
            lambda: task.previewed and not task.over,
            lambda step, rows: self.send(CanvasPreview(request.id, step, rows), task),
        )
        outcome: AnswerMessage | Failure | Alive = no_answer(request, Reason.DEADLINE)
        try:
            if deadline.remaining_ms() > 0:
                outcome = compute(engine, request, deadline, observer)
        except Exception as fault:
            outcome = Failure(request.id, describe(fault))
        with self._changed:
            if task.over:  # answered when it was withdrawn
                outcome = Alive()
            elif task.interrupted and deadline.remaining_ms() > 0 and was_stopped(outcome):
                task.interrupted = False
                self._queues.resume(task)
                return
            elif isinstance(request, Infill) and isinstance(outcome, Answered):
                self._continue(task, request, outcome.answer)
            task.over = True
        self.send(outcome, None if isinstance(outcome, Alive) else task)

    def _prefetch(self, engine: "Engine", task: Task, message: Prefetch) -> None:
        try:
            until = self.clock() + PREFETCH_SECONDS
            engine.prefetch(message.around, Deadline(until, self.clock, lambda: task.over))
        finally:
            self.send(Alive(), None)

    def _continue(self, task: Task, message: Infill, answer: Answer) -> None:
        """Queue what there was no time for: the rest of the text, and the rest of the search.

        Neither is wanted any more if newer text of the document waits to be read.
        """
        if self._closed or self._queues.prefetches_newer(task):
            return
        if answer.incomplete_context:
            self._queues.prefetch_again(task)
        if (search := search_after(message, answer, self.clock())) is not None:
            self._queues.searching = Task(search, task.client, task.arrived)

    def _continue_search(self, engine: "Engine", task: Task, search: ContinueSearch) -> None:
        """Continue a search. One that let next edits wait goes on after them as soon as it has something to show."""
        for late in continue_search(engine, search, self._queues.duty_cycle, self.clock, lambda: task.over):
            self.send(late, task)
            with self._changed:
                if search.urgent and shows(late.answer) and self._queues.background and not task.over:
                    self._queues.searching = Task(replace(search, urgent=False), task.client, task.arrived)
                    return

    def _index(self, engine: "Engine", task: Task, message: IndexProject) -> None:
        """Index one piece of a text. The rest waits until there is no other work.

        After the last piece, the last context is read again, because that text may now contribute to it.
        """
        name, done = message.project_text.name, object()
        task.pieces = task.pieces or engine.index_project(message.project_text)
        is_indexed = next(task.pieces, done) is done
        with self._changed:
            if self._closed:
                return
            if not is_indexed:
                self._queues.index(name, task)
            elif self._last_read is not None and self._last_read.project_name == name:
                self._queues.prefetch_again(self._last_read)

    def _file(self, task: Task) -> None:
        if self._closed or self.status.state is not State.READY:
            # A request does not wait for loading: the answer would be out of date.
            failed = self._closed or self.status.state is State.FAILED
            self._withdraw(task, Reason.WORKER_FAILED if failed else Reason.LOADING)
            return
        if len(self._queues.unanswered(task.client)) >= MOST_ASKED:
            self._withdraw(task, Reason.SUPERSEDED)
            return
        if (older := self._queues.request(task)) is not None:
            self._withdraw(older, Reason.SUPERSEDED)
        if (running := self._queues.running) is not None:
            running.interrupted |= running.in_background and not task.in_background
            self._end_running(lambda running: running.gives_way_to(task))

    def _end_running(self, ends: Callable[[Task], bool]) -> None:
        """Withdraw the running work if it has to end."""
        if (running := self._queues.running) is not None and ends(running):
            self._withdraw(running, Reason.SUPERSEDED)

    def _cancel(self, client: int, request_id: int | None = None) -> None:
        for task in self._queues.unanswered(client, request_id):
            self._queues.remove(task)
            self._withdraw(task, Reason.CANCELLED)

    def _close(self) -> None:
        self._closed = True
        for task in self._queues.unanswered():
            self._withdraw(task, Reason.CANCELLED)
        self._end_running(lambda _running: True)
        self._queues.clear()

    def _withdraw(self, task: Task, reason: Reason) -> None:
        if not task.over and isinstance(task.message, Request):
            self.send(no_answer(task.message, reason), task)
        task.over = True
