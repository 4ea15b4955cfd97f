"""One request to the worker while it is under way, and a little longer."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from infill_engine.serving.protocol import CanvasPreview
from infill_engine.types import Answer, InfillRequest

OnSketch = Callable[[CanvasPreview], None]


@dataclass(slots=True, eq=False)
class PendingRequest:
    """One infill on its way. One that nobody waited for yet is speculative and worth finishing."""

    id: int
    request: InfillRequest
    answer: "asyncio.Future[Answer]"
    waiting: int = 0
    watchers: list[OnSketch] = field(default_factory=list)
    watched: bool = False  # whether the worker has been told to

    def worth_joining(self) -> bool:
        """Still on its way, or answered with something that a second try would not better."""
        if not self.answer.done():
            return True
        answer = self.answer.result()
        return bool(answer.candidates) and answer.final
