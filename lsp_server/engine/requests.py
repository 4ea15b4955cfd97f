"""The requests that this server has sent to the engine: one table, from sending until after the answer."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from infill_engine.serving.protocol import CanvasPreview
from infill_engine.types import Answer, InfillRequest
from lsp_server.engine.link import Link

OnPreview = Callable[[CanvasPreview], None]
OnLate = Callable[[Answer], bool]  # returns whether the answer is to take the place of the one before it


@dataclass(slots=True, eq=False)
class EngineRequest:
    """One infill. A request that nobody has waited for is speculative and is allowed to finish."""

    id: int
    document: str
    request: InfillRequest
    link: Link  # over which it was sent
    answer: "asyncio.Future[Answer]"
    due: float  # when the reply is due, in seconds of `deadline.now`
    background: bool = False
    speculative: bool = False  # it was sent before anybody asked, and nobody has asked yet
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


class RequestTable:
    """All requests without an answer, and the newest request of every document, answered or not.

    A document has one request at most, apart from those in the background.
    """

    def __init__(self) -> None:
        self._requests: dict[int, EngineRequest] = {}

    def add(self, request: EngineRequest) -> None:
        """Add a request. It takes the place of its document's older one, unless it is one in the background."""
        if not request.background and (older := self.newest(request.document)) is not None:
            self.remove(older)
        self._requests[request.id] = request

    def get(self, request_id: int) -> EngineRequest | None:
        """Return the request with this id, if it is still here."""
        return self._requests.get(request_id)

    def newest(self, document: str) -> EngineRequest | None:
        """Return a document's request that is not in the background."""
        found = (each for each in self._requests.values() if each.document == document and not each.background)
        return next(found, None)

    def unanswered(self) -> list[EngineRequest]:
        """Return the requests that wait for an answer."""
        return [each for each in self._requests.values() if not each.answer.done()]

    def remove(self, request: EngineRequest) -> None:
        """Drop a request."""
        self._requests.pop(request.id, None)

    def clear(self) -> None:
        """Drop all requests."""
        self._requests.clear()
