"""Several clients of one dispatch: who they are, which messages they get, and what is measured of their requests.

Invariants: a client gets answers to its own requests only; every request of a client that stays is answered once.
"""

import itertools
import os
import threading
from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import psutil

from infill_engine.budget.deadline import Clock, now
from infill_engine.serving.dispatch import Dispatch
from infill_engine.serving.event_log import Log, silent
from infill_engine.serving.protocol import (
    LATENCY_BOUNDS_MS,
    Answered,
    Failure,
    Measure,
    Measured,
    Message,
    Proposed,
    Shutdown,
    State,
    Status,
)
from infill_engine.serving.queues import Task
from infill_engine.serving.runtime_files import package_version
from infill_engine.serving.starting import Load
from infill_engine.types import OVERTAKEN

Send = Callable[[Message], None]
LAST = 1024  # answers that the percentiles are of


@dataclass
class Latencies:
    """How long requests took, in milliseconds: percentiles of the last ones, a histogram of all."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(LATENCY_BOUNDS_MS) + 1))  # one for each bucket
    _last: "deque[float]" = field(default_factory=lambda: deque(maxlen=LAST))

    def add(self, ms: float) -> None:
        """Count a request that took so long."""
        self.counts[bisect_left(LATENCY_BOUNDS_MS, ms)] += 1
        self._last.append(ms)

    def percentiles(self) -> tuple[float, float, float]:
        """Return the 50th, 90th and 99th percentile of the last requests; zeros if there are none."""
        ordered = sorted(self._last) or [0.0]
        middle, ninety, most = (round(ordered[int(share * len(ordered))], 2) for share in (0.5, 0.9, 0.99))
        return middle, ninety, most


@dataclass
class SharedEngine:
    """One engine and its clients. All methods may be called from any thread."""

    load: Load
    clock: Clock = now
    stopping: threading.Event = field(default_factory=threading.Event)
    log: Log = silent
    dispatch: Dispatch = field(init=False)
    left_at: float = 0.0  # when the last client left; meaningless while there are some
    was_joined: bool = False  # by any client, ever
    _clients: dict[int, Send] = field(default_factory=dict)
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    _latencies: Latencies = field(default_factory=Latencies)
    _answers: int = 0
    _from_cache: int = 0
    # Never held while the dispatch is called: the dispatch calls `_send` while it holds its own lock.
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.dispatch = Dispatch(self.load, self._send, self.clock)
        self._began = self.left_at = self.clock()

    @property
    def clients(self) -> int:
        """How many there are."""
        return len(self._clients)

    def join(self, send: Send) -> int:
        """Add a client, tell it the engine's state, and return its number. `send` must not block."""
        with self._lock:
            client = next(self._numbers)
            self._clients[client] = send
            self.was_joined = True
            self.log("client joined", client=client, clients=len(self._clients))
            send(self.dispatch.status)
            return client

    def leave(self, client: int) -> None:
        """Forget a client with its requests and documents."""
        with self._lock:
            self._clients.pop(client, None)
            self.left_at = self.clock()
            self.log("client left", client=client, clients=len(self._clients))
        self.dispatch.forget(client)

    def receive(self, client: int, message: Message) -> None:
        """Handle a message from a client. Ignore what no client should send."""
        match message:
            case Measure():
                self._tell(client, self.measured())
            case Shutdown():
                self.stopping.set()
            case _:
                self.dispatch.receive(message, client)

    def broadcast(self, message: Message) -> None:
        """Send a message to every client."""
        self._send(message, None)

    def measured(self) -> Measured:
        """Return what `infill-ls engine status` shows. One of the clients is the one that asks."""
        waiting = self.dispatch.unanswered()
        with self._lock:
            status = self.dispatch.status
            return Measured(
                pid=os.getpid(),
                version=package_version(),
                state=status.state,
                model=status.model,
                device=status.device,
                seconds=self.clock() - self._began,
                memory_bytes=psutil.Process().memory_info().rss,
                clients=max(0, len(self._clients) - 1),
                waiting=waiting,
                answers=self._answers,
                from_cache=self._from_cache,
                latency_ms=self._latencies.percentiles(),
                latency_counts=tuple(self._latencies.counts),
            )

    def _tell(self, client: int, message: Message) -> None:
        with self._lock:
            send = self._clients.get(client)
        if send is not None:
            send(message)

    def _send(self, message: Message, task: Task | None) -> None:
        """Send a message of the dispatch to the client of its task; to all clients if it has none."""
        with self._lock:
            if task is not None:
                if isinstance(message, Answered | Proposed | Failure):
                    self._count(message, task)
                receivers = [self._clients[task.client]] if task.client in self._clients else []
            else:
                if isinstance(message, Status) and message.state is not State.LOADING:
                    self._log_status(message)
                receivers = list(self._clients.values())
            for send in receivers:
                send(message)

    def _log_status(self, status: Status) -> None:
        self.log(
            status.state,
            model=status.model,
            device=status.device,
            least_ms=status.least_ms,
            detail=status.detail,
        )

    def _count(self, message: Answered | Proposed | Failure, task: Task) -> None:
        ms = round(1000 * (self.clock() - task.arrived), 2)
        if isinstance(message, Failure):
            self.log("failure", client=task.client, ms=ms, sentence=message.message)
            return
        if message.answer.reason not in OVERTAKEN:
            self._answers += 1
            self._latencies.add(ms)
        if isinstance(message, Proposed):
            proposals = len(message.answer.proposals)
            self.log("next edits", client=task.client, ms=ms, proposals=proposals, reason=message.answer.reason)
            return
        answer = message.answer
        self._from_cache += answer.cached
        self.log(
            "answer",
            client=task.client,
            ms=ms,
            candidates=len(answer.candidates),
            reason=answer.reason,
            cached=answer.cached,
            read_ms=round(answer.read_ms, 2),
            compute_ms=round(answer.compute_ms, 2),
        )
