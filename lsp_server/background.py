"""Coroutines that no request waits for."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger(__name__)


class BackgroundTasks:
    """Runs coroutines to their end. They are never cancelled, and their faults are only logged."""

    def __init__(self) -> None:
        self.running: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine."""
        task = asyncio.ensure_future(_logged(work))
        self.running.add(task)
        task.add_done_callback(self.running.discard)


async def _logged(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except Exception as fault:
        log.error("a background task failed: %s", type(fault).__name__)
