"""One request to the engine, from sending until after its answer."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from infill_engine.serving.protocol import CanvasPreview
from infill_engine.types import Answer, InfillRequest

OnPreview = Callable[[CanvasPreview], None]
OnLate = Callable[[Answer], bool]  # returns whether the answer is to take the place of the one before it


@dataclass(slots=True, eq=False)
class PendingRequest:
    """One infill, kept from sending until shortly after its answer.

    A request that nobody has waited for is speculative and is allowed to finish.
    """

    id: int
    request: InfillRequest
    answer: "asyncio.Future[Answer]"
    waiting: int = 0
    watchers: list[OnPreview] = field(default_factory=list)
    ahead: bool = False  # it was sent before anybody asked, and nobody has asked yet
    watched: bool = False  # whether the worker was told to send previews
    on_late: OnLate | None = None  # of whoever asked last
    late: bool = False  # the answer came after the one that the asker got

    def is_overdue(self) -> bool:
        """Return whether somebody has asked and waits no longer, but would still take a late answer."""
        return self.on_late is not None and not self.waiting

    def improve(self, answer: Answer) -> None:
        """Keep a late answer for those who ask again, unless the last asker does not want it."""
        if self.on_late is None or self.on_late(answer):
            self.answer, self.late = asyncio.get_running_loop().create_future(), True
            self.answer.set_result(answer)

    def worth_joining(self) -> bool:
        """Return whether it is still pending, or has an answer that a retry would not improve."""
        if not self.answer.done():
            return True
        answer = self.answer.result()
        return bool(answer.candidates) and (answer.final or self.late)
