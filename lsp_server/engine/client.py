"""Sends requests to the worker and receives its messages. Equal requests for one document share one answer.

Invariant: every `ask` returns by its deadline, whatever the worker does.
"""

import asyncio
import itertools
import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TypeVar

from msgspec import structs

from infill_engine.budget.deadline import now
from infill_engine.serving.protocol import (
    Answered,
    Cancel,
    CanvasPreview,
    Changed,
    Claim,
    Failure,
    Infill,
    Late,
    Message,
    Renew,
    State,
    Status,
    Surround,
    Warm,
    Watch,
)
from infill_engine.types import Answer, InfillRequest, Reason, Surroundings
from lsp_server.engine.link import Command, worker_command
from lsp_server.engine.pending import OnLate, OnPreview, PendingRequest
from lsp_server.engine.supervisor import WorkerProcess
from lsp_server.settings.schema import EngineChoice

WAY_BACK_SECONDS = 0.004  # subtracted from the worker's deadline for the frame and our reply
DIED = "The infill engine stopped unexpectedly and is being restarted."
HUNG = "The infill engine no longer answered and is being restarted."

News = TypeVar("News")
log = logging.getLogger(__name__)


@dataclass(eq=False)
class EngineClient:
    """Asks the worker and keeps it alive.

    `on_status` is called on every change of the worker's state. `on_error` gets a message for the user when the worker
    dies for the first time, gives up, or cannot load its model. Both run on the event loop. Exceptions they raise are
    logged by name and do not stop the reading of worker messages.
    """

    on_status: Callable[[Status], None]
    on_error: Callable[[str], None]
    command: Command = worker_command
    shared: bool = False  # use the engine of all windows instead of a worker of this server's own
    status: Status = field(default_factory=lambda: Status(State.LOADING))
    choice: EngineChoice = field(default_factory=EngineChoice)  # the engine that the worker was started with
    takes_late: bool = False  # the engine goes on after an answer, and says what it finds
    worker: WorkerProcess = field(init=False)
    _pending: dict[int, PendingRequest] = field(default_factory=dict)
    _newest: dict[str, PendingRequest] = field(default_factory=dict)  # by document, finished or not
    _ids: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    _read_last: tuple[str, InfillRequest] | None = None  # document and context, if the last message was a read-ahead
    _told: set[str] = field(default_factory=set)
    _switching: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self.worker = WorkerProcess(self, self.command, self.shared)

    async def start(self, choice: EngineChoice, *, anew: bool = False) -> None:
        """Start the engine, or replace the running one. With `anew`, end a shared engine too, for all windows."""
        async with self._switching:
            await (self.worker.end() if anew else self.worker.stop())
            self.choice = choice
            self._told.clear()
            self._report(Status(State.LOADING, model=choice.model, device=choice.device))
            self.worker.start(choice)

    async def renew(self) -> None:
        """Load the model anew, because its files have changed. A shared engine answers until that is done."""
        if self.worker.budget_ms is None or not self.worker.send(Renew()):  # or it does not listen
            await self.start(self.choice)

    async def stop(self) -> None:
        """Stop the worker. Pending requests are answered."""
        async with self._switching:
            await self.worker.stop()

    async def ask(
        self,
        document: str,
        request: InfillRequest,
        due: float,
        on_preview: OnPreview | None = None,
        on_late: OnLate | None = None,
    ) -> Answer:
        """Return the answer to a request by `due` (seconds of `deadline.now`).

        Joins an equal request that is pending or was just answered; supersedes any other request for the same document.
        `on_preview` receives the canvas after every remaining step, `on_late` what is found after the answer.
        """
        pending = self._join_or_send(document, request, due)
        if pending is None:
            return self._no_answer()
        if pending.ahead:
            pending.ahead = False
            self.worker.send(Claim(pending.id))
        pending.waiting += 1
        pending.on_late = on_late or pending.on_late
        if on_preview is not None:
            self._watch(pending, on_preview)
        try:
            return await self._answer_by(due, pending)
        finally:
            pending.waiting -= 1
            if on_preview is not None:
                pending.watchers.remove(on_preview)
            if not pending.waiting and (on_late is None or now() < due):  # what comes later may still be shown
                self._withdraw(pending, Reason.CANCELLED)

    async def ask_in_background(self, document: str, request: InfillRequest, due: float) -> Answer:
        """Return the answer to a request that gives way to those of `ask`, by `due`."""
        pending = self._send(document, request, due, background=True)
        if pending is None:
            return self._no_answer()
        try:
            return await self._answer_by(due, pending)
        finally:
            self._withdraw(pending, Reason.CANCELLED)

    def speculate(self, document: str, request: InfillRequest, due: float) -> None:
        """Start a request that is likely to be asked soon."""
        self._join_or_send(document, request, due, ahead=True)

    def withdraw(self, document: str, *, unless: InfillRequest | None = None) -> None:
        """End the work for the last request of this document, unless it equals `unless`."""
        pending = self._newest.get(document)
        if pending is not None and pending.request != unless:
            if self.takes_late and pending.answer.done():
                self.worker.send(Changed(document))
            self._withdraw(pending, Reason.SUPERSEDED)

    def forget(self, document: str) -> None:
        """Drop the state of a closed document."""
        self.withdraw(document)
        self._newest.pop(document, None)

    def warm(self, document: str, request: InfillRequest) -> None:
        """Have the worker read a context ahead of time, unless it was the last message sent. Allowed while loading."""
        if self._read_last != (document, request) and self.worker.send(Warm(document, request)):
            self._read_last = (document, request)

    def surround(self, surroundings: Surroundings) -> None:
        """Have the worker count a text that requests will name, if it can use it. Repeated for every new worker."""
        if surroundings.text and self.status.state is State.READY and self.status.window.surroundings:
            self.worker.send(Surround(surroundings))

    def _join_or_send(
        self, document: str, request: InfillRequest, due: float, *, ahead: bool = False
    ) -> PendingRequest | None:
        newest = self._newest.get(document)
        if newest is not None and newest.request == request and newest.worth_joining():
            return newest
        if newest is not None:
            self._withdraw(newest, Reason.SUPERSEDED)
        pending = self._send(document, request, due, ahead=ahead)
        if pending is not None:
            self._read_last = None
            self._newest[document] = pending
        return pending

    def _send(
        self, document: str, request: InfillRequest, due: float, *, ahead: bool = False, background: bool = False
    ) -> PendingRequest | None:
        """Send a request to the worker. Return None if it is not ready or has too much unread input."""
        if self.status.state is not State.READY:
            return None
        pending = PendingRequest(next(self._ids), request, asyncio.get_running_loop().create_future(), ahead=ahead)
        late = pending.id if self.takes_late and not background else 0
        message = Infill(pending.id, document, request, due - WAY_BACK_SECONDS, background, ahead, late)
        if not self.worker.send(message):
            return None
        self._pending[pending.id] = pending
        return pending

    async def _answer_by(self, due: float, pending: PendingRequest) -> Answer:
        try:
            return await asyncio.wait_for(asyncio.shield(pending.answer), max(0.0, due - now()))
        except TimeoutError:
            self.worker.missed()
            return Answer(reason=Reason.DEADLINE)

    def _no_answer(self) -> Answer:
        """Return why a request could not be sent."""
        return Answer(reason=Reason.LOADING if self.status.state is State.LOADING else Reason.WORKER_FAILED)

    def _watch(self, pending: PendingRequest, on_preview: OnPreview) -> None:
        pending.watchers.append(on_preview)
        if not pending.watched and not pending.answer.done():
            pending.watched = self.worker.send(Watch(pending.id))

    def _withdraw(self, pending: PendingRequest, reason: Reason) -> None:
        if not pending.answer.done():
            self._pending.pop(pending.id, None)
            pending.answer.set_result(Answer(reason=reason))
            self.worker.send(Cancel(pending.id))

    def heard(self, message: Message) -> None:
        """Handle a message from the worker."""
        match message:
            case Status():
                self._report(self._with_budget(message))
                if message.state is State.FAILED:
                    self._tell(f"The infill engine could not load its model. {message.detail}")
            case Answered():
                if message.answer.user_message:
                    self._tell(message.answer.user_message)
                self._resolve(message.id, message.answer)
            case Late():
                newest = self._newest.get(message.document)
                if newest is not None and newest.id == message.id:
                    newest.improve(message.answer)
            case CanvasPreview():
                if (pending := self._pending.get(message.id)) is not None:
                    for on_preview in pending.watchers:
                        _notify(message, on_preview)
            case Failure():
                log.warning("the engine failed on a request: %s", message.message)
                self._tell(message.message)
                self._resolve(message.id, Answer(reason=Reason.WORKER_FAILED))
            case _:
                pass

    def ended(self) -> None:
        """The worker has exited; its pending requests are lost."""
        self.lost(self._pending)
        self._newest.clear()
        self._read_last = None

    def lost(self, request_ids: Collection[int]) -> None:
        """These requests will get no answer."""
        for request_id in list(request_ids):
            self._resolve(request_id, Answer(reason=Reason.WORKER_FAILED))

    def moved(self) -> None:
        """Another process of the engine is asked from now on, which has read nothing."""
        self._read_last = None

    def restarting(self, *, hung: bool) -> None:
        """Tell the user, once."""
        self._report(Status(State.LOADING, "restarting", 0.0, self.choice.model, self.choice.device))
        self._tell(HUNG if hung else DIED)

    def unsafe(self, sentence: str) -> None:
        """Tell the user why the shared engine cannot be reached."""
        self._tell(sentence)

    def given_up(self, deaths: int) -> None:
        """Tell the user that no worker will be started unless they ask for it."""
        how = f"stopped {deaths} times in a row" if deaths else "could not be started"
        advice = f"The infill engine {how}. See the server's log, then run the command infill.restartEngine."
        self._report(Status(State.FAILED, advice, 0.0, self.choice.model, self.choice.device))
        self._tell(advice)

    def _with_budget(self, status: Status) -> Status:
        """Say in a status if a shared engine was started with another budget than this window's."""
        budget_ms = self.worker.budget_ms
        if status.state is not State.READY or budget_ms is None or budget_ms == self.choice.usual_budget_ms:
            return status
        said = f"shared; chosen for the budget of the first window, {budget_ms:.0f} ms"
        return structs.replace(status, detail="; ".join(filter(None, (status.detail, said))))

    def _resolve(self, request_id: int, answer: Answer) -> None:
        pending = self._pending.pop(request_id, None)
        if pending is not None and not pending.answer.done():
            pending.answer.set_result(answer)
            if pending.is_overdue():
                pending.improve(answer)

    def _report(self, status: Status) -> None:
        self.status = status
        _notify(status, self.on_status)

    def _tell(self, sentence: str) -> None:
        if sentence not in self._told:
            self._told.add(sentence)
            _notify(sentence, self.on_error)


def _notify(news: News, listener: Callable[[News], None]) -> None:
    try:
        listener(news)
    except Exception as fault:  # its message may contain the user's text
        log.error("what the worker said could not be passed on: %s", type(fault).__name__)
