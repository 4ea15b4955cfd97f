"""One request to the worker, kept from sending until shortly after its answer."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from infill_engine.serving.protocol import CanvasPreview
from infill_engine.types import Answer, InfillRequest

OnPreview = Callable[[CanvasPreview], None]


@dataclass(slots=True, eq=False)
class PendingRequest:
    """One pending infill. A request that nobody has waited for is speculative and is allowed to finish."""

    id: int
    request: InfillRequest
    answer: "asyncio.Future[Answer]"
    waiting: int = 0
    watchers: list[OnPreview] = field(default_factory=list)
    ahead: bool = False  # it was sent before anybody asked, and nobody has asked yet
    watched: bool = False  # whether the worker was told to send previews

    def worth_joining(self) -> bool:
        """Return whether it is still pending, or has an answer that a retry would not improve."""
        if not self.answer.done():
            return True
        answer = self.answer.result()
        return bool(answer.candidates) and answer.final
