"""Sends requests to the engine and receives its messages. Equal requests for one document share one answer.

Invariant: every `ask` returns in time for a reply by its deadline, whatever the engine does.
"""

import asyncio
import itertools
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from infill_engine.budget.deadline import now
from infill_engine.edits.types import NextEditRequest, NextEdits
from infill_engine.serving.protocol import (
    Alternatives,
    Answered,
    Background,
    Cancel,
    CanvasPreview,
    DocumentChanged,
    Failure,
    IndexProject,
    Infill,
    Late,
    Message,
    NextEdit,
    Prefetch,
    Proposed,
    SendPreviews,
    State,
    Status,
)
from infill_engine.types import AlternativesRequest, Answer, InfillRequest, ProjectText, Reason, Surroundings
from lsp_server.engine_client.link import Command, Link, engine_command
from lsp_server.engine_client.pending import A, OnLate, OnPreview, Pending, PendingInfill, PendingRequests
from lsp_server.engine_client.supervisor import EngineProcess
from lsp_server.settings.schema import EngineChoice

REPLY_SECONDS = 0.002  # before a reply is due, for making and sending it: no longer waiting for the engine
FRAME_SECONDS = 0.004  # before that, for the frame of the answer: the engine no longer computes

News = TypeVar("News")
log = logging.getLogger(__name__)


def reply_by(due: float) -> asyncio.Timeout:
    """Raise TimeoutError in the block in time for a reply by `due` (seconds of `deadline.now`)."""
    return asyncio.timeout(max(0.0, due - REPLY_SECONDS - now()))


@dataclass(eq=False)
class EngineClient:
    """Asks the engine and keeps it alive.

    `on_status` is called on every change of the engine's state. `on_error` gets a message for the user when the engine
    dies for the first time, gives up, or cannot load its model. Both run on the event loop. Exceptions they raise are
    logged by name and do not stop the reading of the engine's messages.
    """

    on_status: Callable[[Status], None]
    on_error: Callable[[str], None]
    command: Command = engine_command
    shared: bool = False  # use the engine of all editor windows instead of one of this server's own
    status: Status = field(default_factory=lambda: Status(State.LOADING))
    choice: EngineChoice = field(default_factory=EngineChoice)  # the engine that the process was started with
    takes_late: bool = False  # the engine goes on after an answer, and says what it finds
    process: EngineProcess = field(init=False)
    pending: PendingRequests = field(default_factory=PendingRequests)
    _ids: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    # Link, document and text, if the last message was a prefetch.
    _prefetched: tuple[Link | None, str, Surroundings] | None = None
    _told: set[str] = field(default_factory=set)
    _switching: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self.process = EngineProcess(self, self.command, self.shared)

    async def start(self, choice: EngineChoice, *, anew: bool = False) -> None:
        """Start the engine, or replace the running one. With `anew`, end a shared engine for all clients, too."""
        async with self._switching:
            await (self.process.end() if anew else self.process.stop())
            self.choice = choice
            self._told.clear()
            self._report(Status(State.LOADING, model=choice.model, device=choice.device))
            self.process.start(choice)

    async def stop(self) -> None:
        """Stop the engine. Pending requests are answered."""
        async with self._switching:
            await self.process.stop()

    async def ask(
        self,
        document: str,
        request: InfillRequest,
        due: float,
        on_preview: OnPreview | None = None,
        on_late: OnLate | None = None,
    ) -> Answer:
        """Return the answer to a request in time for a reply by `due` (seconds of `deadline.now`).

        Joins an equal request that is pending or was just answered; supersedes any other request for the same document,
        and an equal one if only this one is explicit.
        `on_preview` receives the canvas after every remaining step, `on_late` what is found after the answer.
        """
        pending = self._join_or_send(document, request, due)
        if pending is None:
            return Answer(reason=self._why_not())
        pending.waiting += 1
        pending.on_late = on_late or pending.on_late
        if on_preview is not None:
            self._request_previews(pending, on_preview)
        try:
            return await self._answer_by(due, pending)
        finally:
            pending.waiting -= 1
            if on_preview is not None:
                pending.on_preview.remove(on_preview)
            may_show_late = on_late is not None and now() >= due - REPLY_SECONDS
            if not pending.waiting and not may_show_late:
                self._withdraw(pending, Reason.CANCELLED)

    async def alternatives(self, document: str, request: AlternativesRequest, due: float) -> Answer:
        """Return the answer to a request for alternatives in time for a reply by `due`. Completions go first."""
        return await self._in_background(Answer, partial(Alternatives, request=request, document=document), due)

    async def next_edits(self, document: str, request: NextEditRequest, due: float) -> NextEdits:
        """Return the answer to a request for next edits in time for a reply by `due`. Completions go first."""
        return await self._in_background(NextEdits, partial(NextEdit, request=request, document=document), due)

    async def _in_background(self, kind: type[A], request: Callable[..., Background], due: float) -> A:
        number, link = next(self._ids), self._ready_link()
        if link is None or not link.send(request(id=number, expires_at=_expiry(due))):
            return kind(reason=self._why_not())
        pending = Pending(number, kind, link, asyncio.get_running_loop().create_future(), due)
        self.pending.add(pending)
        try:
            return await self._answer_by(due, pending)
        finally:
            self._withdraw(pending, Reason.CANCELLED)
            self.pending.remove(pending)

    def speculate(self, document: str, request: InfillRequest, due: float) -> None:
        """Start a request that is likely to be asked soon."""
        self._join_or_send(document, request, due)

    def withdraw(self, document: str) -> None:
        """End the work for the last request of this document."""
        pending = self.pending.newest(document)
        if pending is not None:
            if self.takes_late and pending.answer.done():
                pending.link.send(DocumentChanged(document))
            self._withdraw(pending, Reason.SUPERSEDED)

    def forget(self, document: str) -> None:
        """Drop the state of a closed document."""
        self.withdraw(document)
        self.pending.forget(document)

    def prefetch(self, document: str, around: Surroundings) -> None:
        """Have the engine read a text before a request, unless that was the last message. Allowed while loading."""
        prefetched = (self.process.link, document, around)
        if self._prefetched != prefetched and self._send(Prefetch(document, around)):
            self._prefetched = prefetched

    def index_project(self, project_text: ProjectText) -> None:
        """Have the engine index a text that requests will name, if it can use it. Repeated for every new engine."""
        if project_text.text and self.status.state is State.READY and self.status.window.wants_project:
            self._send(IndexProject(project_text))

    def _join_or_send(self, document: str, request: InfillRequest, due: float) -> PendingInfill | None:
        """Return an equal request of the document, or send this one; None if the engine cannot take it."""
        newest = self.pending.newest(document)
        if newest is not None and newest.serves(request):
            return newest
        if newest is not None:
            self._withdraw(newest, Reason.SUPERSEDED)
        number, link = next(self._ids), self._ready_link()
        message = Infill(number, document, request, _expiry(due), self.takes_late)
        if link is None or not link.send(message):
            return None
        answer = asyncio.get_running_loop().create_future()
        pending = PendingInfill(number, Answer, link, answer, due, document, request)
        self.pending.add_infill(pending)
        self._prefetched = None
        return pending

    def _ready_link(self) -> Link | None:
        """Return the connection to an engine that takes requests."""
        return self.process.link if self.status.state is State.READY else None

    def _send(self, message: Message) -> bool:
        """Send a message. Return False if no engine runs or too much of its input is unread."""
        return self.process.link is not None and self.process.link.send(message)

    async def _answer_by(self, due: float, pending: Pending[A]) -> A:
        try:
            async with reply_by(due):
                return await asyncio.shield(pending.answer)
        except TimeoutError:
            if due >= pending.due:  # it may have joined a request that has more time
                self.process.missed()
            return pending.kind(reason=Reason.DEADLINE)

    def _why_not(self) -> Reason:
        """Return why a request could not be sent."""
        return Reason.LOADING if self.status.state is State.LOADING else Reason.WORKER_FAILED

    def _request_previews(self, pending: PendingInfill, on_preview: OnPreview) -> None:
        pending.on_preview.append(on_preview)
        if not pending.previewed and not pending.answer.done():
            pending.previewed = pending.link.send(SendPreviews(pending.id))

    def _withdraw(self, pending: Pending[Any], reason: Reason) -> None:
        if not pending.answer.done():
            pending.answer.set_result(pending.kind(reason=reason))
            pending.link.send(Cancel(pending.id))

    def heard(self, message: Message) -> None:
        """Handle a message from the engine."""
        match message:
            case Status():
                self._report(message)
                if message.state is State.FAILED:
                    self._tell(f"The infill engine could not load its model. {message.detail}")
            case Answered():
                if message.answer.user_message:
                    self._tell(message.answer.user_message)
                self._resolve(message.id, message.answer)
            case Proposed():
                self._resolve(message.id, message.answer)
            case Late():
                if isinstance(pending := self.pending.get(message.id), PendingInfill):
                    pending.improve(message.answer)
            case CanvasPreview():
                if isinstance(pending := self.pending.get(message.id), PendingInfill):
                    _notify(message, pending.preview)
            case Failure():
                log.warning("the engine failed on a request: %s", message.message)
                self._tell(message.message)
                if (pending := self.pending.get(message.id)) is not None:
                    pending.fail(Reason.WORKER_FAILED)
            case _:
                pass

    def lost(self) -> None:
        """See `Listener`."""
        for pending in self.pending.unanswered():
            pending.fail(Reason.WORKER_FAILED)
        self.pending.clear()
        self._prefetched = None

    def report(self, sentence: str, status: Status | None = None) -> None:
        """See `Listener`."""
        if status is not None:
            self._report(status)
        self._tell(sentence)

    def _resolve(self, request_id: int, answer: Answer | NextEdits) -> None:
        if (pending := self.pending.get(request_id)) is not None and isinstance(answer, pending.kind):
            pending.resolve(answer)

    def _report(self, status: Status) -> None:
        self.status = status
        _notify(status, self.on_status)

    def _tell(self, sentence: str) -> None:
        if sentence not in self._told:
            self._told.add(sentence)
            _notify(sentence, self.on_error)


def _expiry(due: float) -> float:
    """Return when the engine has to be done for a reply by `due`."""
    return due - REPLY_SECONDS - FRAME_SECONDS


def _notify(news: News, listener: Callable[[News], None]) -> None:
    try:
        listener(news)
    except Exception as fault:  # its message may contain the user's text
        log.error("what the engine said could not be passed on: %s", type(fault).__name__)
