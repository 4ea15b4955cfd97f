"""The requests that this server has sent to the engine: one table, from sending until after the answer."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from infill_engine.edits.types import NextEdits
from infill_engine.serving.protocol import CanvasPreview
from infill_engine.types import Answer, InfillRequest, Reason
from lsp_server.engine_client.link import Link

OnPreview = Callable[[CanvasPreview], None]
OnLate = Callable[[Answer], bool]  # returns whether the answer is to take the place of the one before it
A = TypeVar("A", Answer, NextEdits)


@dataclass(slots=True, eq=False)
class Pending(Generic[A]):
    """A request that was sent over `link`. `kind` is that of its answer."""

    id: int
    kind: type[A]
    link: Link
    answer: "asyncio.Future[A]"
    due: float  # when the reply is due, in seconds of `deadline.now`

    def resolve(self, answer: A) -> None:
        """Give the answer to those who wait."""
        if not self.answer.done():
            self.answer.set_result(answer)

    def fail(self, reason: Reason) -> None:
        """Answer that there is nothing, for this reason."""
        self.resolve(self.kind(reason=reason))


@dataclass(slots=True, eq=False)
class PendingInfill(Pending[Answer]):
    """A request for a completion. One that nobody has waited for was sent ahead and is allowed to finish."""

    document: str
    request: InfillRequest
    waiting: int = 0
    on_preview: list[OnPreview] = field(default_factory=list)
    previewed: bool = False  # whether the engine was told to send previews
    on_late: OnLate | None = None  # of whoever asked last
    late: bool = False  # the answer came after the one that the asker got

    def resolve(self, answer: Answer) -> None:
        """Give the first answer to those who wait. It is a late one if they no longer do but would still take it."""
        if not self.answer.done():
            self.answer.set_result(answer)
            if self.on_late is not None and not self.waiting:
                self.improve(answer)

    def preview(self, canvas: CanvasPreview) -> None:
        """Show a step to those who want to see it."""
        for on_preview in self.on_preview:
            on_preview(canvas)

    def improve(self, answer: Answer) -> None:
        """Keep a late answer for those who ask again, unless the last asker does not want it."""
        if self.on_late is None or self.on_late(answer):
            self.answer, self.late = asyncio.get_running_loop().create_future(), True
            self.answer.set_result(answer)

    def serves(self, request: InfillRequest) -> bool:
        """Return whether an equal request gets this one's answer: it is pending, or a retry would not improve it.

        An explicit request does not join one that has less time.
        """
        if request != self.request:
            return False
        if not self.answer.done():
            return self.request.explicit or not request.explicit
        answer = self.answer.result()
        return bool(answer.candidates) and (answer.final or self.late) and not (answer.cut_short and request.explicit)


class PendingRequests:
    """All requests without an answer, and the newest completion request of every document, answered or not."""

    def __init__(self) -> None:
        self._pending: dict[int, Pending[Any]] = {}
        self._newest: dict[str, PendingInfill] = {}

    def add(self, pending: Pending[Any]) -> None:
        """Add a request."""
        self._pending[pending.id] = pending

    def add_infill(self, pending: PendingInfill) -> None:
        """Add a completion request. It takes the place of its document's older one."""
        self.forget(pending.document)
        self._newest[pending.document] = pending
        self.add(pending)

    def get(self, request_id: int) -> Pending[Any] | None:
        """Return the request with this id, if it is still here."""
        return self._pending.get(request_id)

    def newest(self, document: str) -> PendingInfill | None:
        """Return a document's completion request."""
        return self._newest.get(document)

    def unanswered(self) -> list[Pending[Any]]:
        """Return the requests that wait for an answer."""
        return [each for each in self._pending.values() if not each.answer.done()]

    def remove(self, pending: Pending[Any]) -> None:
        """Drop a request."""
        self._pending.pop(pending.id, None)

    def forget(self, document: str) -> None:
        """Drop a document's completion request."""
        if (older := self._newest.pop(document, None)) is not None:
            self.remove(older)

    def clear(self) -> None:
        """Drop all requests."""
        self._pending.clear()
        self._newest.clear()
