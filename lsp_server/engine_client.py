"""The worker process as the server sees it: started, asked, restarted, and never waited for beyond a deadline.

    EngineClient    one worker at a time; requests of a document that are equal share one answer
    supervision     a task that starts the worker, reads its frames until it ends, waits, and starts it again
    watchdog        ends a worker that lives and no longer works, which supervision then takes for a death

Invariant: every `ask` returns by its deadline, whatever the worker does.
"""

import asyncio
import itertools
import logging
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import infill_engine
from infill_engine.deadline import now
from infill_engine.errors import WorkerError
from infill_engine.types import Answer, InfillRequest, Reason, Surroundings
from infill_engine.worker.protocol import (
    Alive,
    Answered,
    Cancel,
    Failure,
    Infill,
    Message,
    Sketch,
    State,
    Status,
    Surround,
    Warm,
    Watch,
    decode,
    encode,
    read_frame_async,
)
from lsp_server import watchdog
from lsp_server.flight import Flight, OnSketch
from lsp_server.settings import EngineChoice
from lsp_server.watchdog import Watchdog

RESTART_SECONDS = 0.5  # after the first death; twice as long after each further one
RESTART_SECONDS_MOST = 30.0
HEALTHY_SECONDS = 60.0  # a worker that was ready this long is forgiven its predecessors
DEATHS = 6  # in a row, after which only the user starts it again
EXIT_SECONDS = 1.0
UNREAD_BYTES = 4 * 1024 * 1024  # a worker that has left this much unread gets no more
WAY_BACK_SECONDS = 0.004  # kept from the worker's deadline for the frame and our answer

DIED = "The infill engine stopped unexpectedly and is being restarted."
HUNG = "The infill engine no longer answered and is being restarted."
# Given by the worker's reader thread, whatever has become of its compute thread.
_SAYS_NOTHING_OF_LIFE = (Reason.CANCELLED, Reason.SUPERSEDED)

News = TypeVar("News")
Command = Callable[[EngineChoice], Sequence[str]]
log = logging.getLogger(__name__)


def worker_command(choice: EngineChoice) -> Sequence[str]:
    """The command line that starts the worker for an engine."""
    engine = ("--model", choice.model, "--device", choice.device, "--precision", choice.precision)
    further = ("--api-key-variable", choice.key_variable, *["--reuse-context"] * choice.reuse_context)
    return (sys.executable, "-m", "infill_engine.worker", *engine, *further)


@dataclass(eq=False)
class EngineClient:
    """Asks the worker and keeps it alive.

    `on_status` hears of every change of the worker's state, `on_trouble` gets a sentence for the user when the worker
    dies for the first time, gives up, or cannot load its model. Both are called on the event loop, and whatever they
    raise is logged by name: what the worker says goes on being read.
    """

    on_status: Callable[[Status], None]
    on_trouble: Callable[[str], None]
    command: Command = worker_command
    status: Status = field(default_factory=lambda: Status(State.LOADING))
    deaths: int = 0  # of workers in a row
    choice: EngineChoice = field(default_factory=EngineChoice)  # what the worker was started with
    _supervision: "asyncio.Task[None] | None" = None
    _process: asyncio.subprocess.Process | None = None
    _ready_since: float | None = None  # seconds of `deadline.now`; None while the worker has not been ready
    _flights: dict[int, Flight] = field(default_factory=dict)
    _newest: dict[str, Flight] = field(default_factory=dict)  # by document, done or not
    _ids: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    _told: set[str] = field(default_factory=set)
    _switching: asyncio.Lock = field(default_factory=asyncio.Lock)
    _watchdog: Watchdog = field(default_factory=Watchdog)
    _looking: asyncio.TimerHandle | None = None
    _hung: bool = False  # the worker was ended because it hung

    @property
    def worker_pid(self) -> int | None:
        """The worker's process id, while there is one."""
        return None if self._process is None else self._process.pid

    @property
    def running(self) -> bool:
        """Whether a worker is there or about to be."""
        return self._supervision is not None and not self._supervision.done()

    async def start(self, choice: EngineChoice) -> None:
        """Start the worker, or replace one that runs."""
        async with self._switching:
            await self._stop()
            self.choice = choice
            self._told.clear()
            self._report(Status(State.LOADING, model=choice.model, device=choice.device))
            self._supervision = asyncio.create_task(self._supervise())

    async def stop(self) -> None:
        """End the worker. Requests on their way are answered."""
        async with self._switching:
            await self._stop()

    async def ask(self, document: str, request: InfillRequest, due: float, on_sketch: OnSketch | None = None) -> Answer:
        """The answer to a request, at the latest at `due` (seconds of `deadline.now`).

        Joins a request that is equal and on its way, or just answered; any other of the same document is superseded.
        `on_sketch` sees the canvas after every step that is still to come.
        """
        flight = self._flight(document, request, due)
        if flight is None:
            return Answer(reason=Reason.LOADING if self.status.state is State.LOADING else Reason.WORKER_FAILED)
        flight.waiting += 1
        if on_sketch is not None:
            self._watch(flight, on_sketch)
        try:
            return await asyncio.wait_for(asyncio.shield(flight.answer), max(0.0, due - now()))
        except TimeoutError:
            self._missed()
            return Answer(reason=Reason.DEADLINE)
        finally:
            flight.waiting -= 1
            if on_sketch is not None:
                flight.watchers.remove(on_sketch)
            if not flight.waiting:
                self._withdraw(flight, Reason.CANCELLED)

    def speculate(self, document: str, request: InfillRequest, due: float) -> None:
        """Begin with a request that is likely to be asked soon."""
        self._flight(document, request, due)

    def withdraw(self, document: str, *, unless: InfillRequest | None = None) -> None:
        """Nobody wants what is on its way for this document any more, unless it is this very request."""
        flight = self._newest.get(document)
        if flight is not None and flight.request != unless:
            self._withdraw(flight, Reason.SUPERSEDED)

    def forget(self, document: str) -> None:
        """The document is closed."""
        self.withdraw(document)
        self._newest.pop(document, None)

    def warm(self, document: str, request: InfillRequest) -> None:
        """Have the worker read a context ahead of time. Allowed while the model is loading."""
        self._send(Warm(document, request))

    def surround(self, surroundings: Surroundings) -> None:
        """Have the worker count a text that requests will name, if it has a use for it; again for every new worker."""
        if surroundings.text and self.status.state is State.READY and self.status.window.surroundings:
            self._send(Surround(surroundings))

    async def _stop(self) -> None:
        task, self._supervision = self._supervision, None
        if task is not None:
            task.cancel()
            await asyncio.wait((task,), timeout=2 * EXIT_SECONDS)

    def _flight(self, document: str, request: InfillRequest, due: float) -> Flight | None:
        newest = self._newest.get(document)
        if newest is not None and newest.request == request and newest.worth_joining():
            return newest
        if newest is not None:
            self._withdraw(newest, Reason.SUPERSEDED)
        if self.status.state is not State.READY:
            return None
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        flight = Flight(next(self._ids), request, future)
        if not self._send(Infill(flight.id, document, request, due - WAY_BACK_SECONDS)):
            return None
        self._flights[flight.id] = self._newest[document] = flight
        return flight

    def _watch(self, flight: Flight, on_sketch: OnSketch) -> None:
        flight.watchers.append(on_sketch)
        if not flight.watched and not flight.answer.done():
            flight.watched = self._send(Watch(flight.id))

    def _withdraw(self, flight: Flight, reason: Reason) -> None:
        if not flight.answer.done():
            self._flights.pop(flight.id, None)
            flight.answer.set_result(Answer(reason=reason))
            self._send(Cancel(flight.id))

    def _send(self, message: Message) -> bool:
        process = self._process
        if process is None or process.stdin is None or process.stdin.is_closing():
            return False
        if process.stdin.transport.get_write_buffer_size() > UNREAD_BYTES:
            return False
        try:
            process.stdin.write(encode(message))
        except (OSError, WorkerError) as fault:
            log.warning("could not send to the worker: %s", type(fault).__name__)
            return False
        return True

    async def _supervise(self) -> None:
        self.deaths = 0
        while True:
            self._ready_since = None
            code = await self._run_once()
            ready_seconds = 0.0 if self._ready_since is None else now() - self._ready_since
            self.deaths = 1 if ready_seconds > HEALTHY_SECONDS else self.deaths + 1
            log.warning("the worker ended with code %s", code)
            if self.deaths >= DEATHS or code is None:
                return self._give_up()
            self._report(Status(State.LOADING, "restarting", 0.0, self.choice.model, self.choice.device))
            self._tell(HUNG if self._hung else DIED)
            await asyncio.sleep(min(RESTART_SECONDS_MOST, RESTART_SECONDS * 2 ** (self.deaths - 1)))

    async def _run_once(self) -> int | None:
        """Start the worker and read its frames until it ends; its exit code, or None if it could not be started."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self.command(self.choice),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                # Not the editor's folder: a file there could pose as one of our modules.
                cwd=Path(infill_engine.__file__).parent.parent,
                start_new_session=os.name == "posix",  # the editor's Ctrl-C is not meant for it
            )
        except OSError as fault:
            log.warning("could not start the worker: %s", type(fault).__name__)
            return None
        assert process.stdout is not None
        self._process = process
        self._hung = False
        # A worker that took too long before gets longer: it may be slow rather than hung.
        self._watchdog = Watchdog(watchdog.PATIENCE_SECONDS * 2**self.deaths)
        try:
            while (payload := await read_frame_async(process.stdout)) is not None:
                self._receive(decode(payload))
            return await asyncio.wait_for(process.wait(), EXIT_SECONDS)
        except TimeoutError:  # it closed its pipe and yet lives
            return -1
        finally:
            self._process = None
            if self._looking is not None:
                self._looking.cancel()
                self._looking = None
            self._answer_all(Reason.WORKER_FAILED)
            if process.returncode is None:
                process.kill()  # nothing in a worker is worth saving
                await process.wait()

    def _receive(self, message: Message | None) -> None:
        match message:
            case Status():
                if message.state is State.READY and self._ready_since is None:
                    self._ready_since = now()
                self._report(message)
                if message.state is State.FAILED:
                    self._tell(f"The infill engine could not load its model. {message.detail}")
            case Answered():
                if message.answer.reason not in _SAYS_NOTHING_OF_LIFE:
                    self._watchdog.alive()
                if message.answer.trouble:
                    self._tell(message.answer.trouble)
                self._land(message.id, message.answer)
            case Sketch():
                self._watchdog.alive()
                if (flight := self._flights.get(message.id)) is not None:
                    for on_sketch in flight.watchers:
                        _hand(message, on_sketch)
            case Alive():
                self._watchdog.alive()
            case Failure():
                self._watchdog.alive()
                log.warning("the engine failed on a request: %s", message.message)
                self._tell(message.message)
                self._land(message.id, Answer(reason=Reason.WORKER_FAILED))
            case _:
                pass

    def _land(self, flight_id: int, answer: Answer) -> None:
        flight = self._flights.pop(flight_id, None)
        if flight is not None and not flight.answer.done():
            flight.answer.set_result(answer)

    def _missed(self) -> None:
        if self._process is not None and self.status.state is State.READY:
            self._watchdog.missed(now())
            if self._looking is None:
                self._look_later()

    def _look_later(self) -> None:
        self._looking = asyncio.get_running_loop().call_later(watchdog.LOOK_SECONDS, self._look)

    def _look(self) -> None:
        self._looking = None
        if self._process is None:
            return
        if self._watchdog.hangs(now()):
            log.warning("the worker has not answered %d requests and is ended", self._watchdog.misses)
            self._hung = True
            self._process.kill()
        elif self._watchdog.misses:
            self._look_later()

    def _answer_all(self, reason: Reason) -> None:
        for flight_id in list(self._flights):
            self._land(flight_id, Answer(reason=reason))
        self._newest.clear()

    def _give_up(self) -> None:
        how = f"stopped {self.deaths} times in a row" if self.deaths > 1 else "could not be started"
        advice = f"The infill engine {how}. See the server's log, then run the command infill.restartEngine."
        self._report(Status(State.FAILED, advice, 0.0, self.choice.model, self.choice.device))
        self._tell(advice)

    def _report(self, status: Status) -> None:
        self.status = status
        _hand(status, self.on_status)

    def _tell(self, sentence: str) -> None:
        if sentence not in self._told:
            self._told.add(sentence)
            _hand(sentence, self.on_trouble)


def _hand(news: News, hear: Callable[[News], None]) -> None:
    try:
        hear(news)
    except Exception as fault:  # its text may hold the user's
        log.error("what the worker said could not be passed on: %s", type(fault).__name__)
