"""Starts a worker as the server does, sends it one request, and stops it."""

import asyncio
from dataclasses import dataclass

from infill_engine.budget.deadline import now
from infill_engine.serving.protocol import State
from infill_engine.types import Answer
from lsp_server.cli.place import open_text
from lsp_server.engine.client import EngineClient
from lsp_server.settings.schema import EngineChoice, ServerSettings
from lsp_server.suggestions.request import build_request

LOAD_SECONDS = 180.0  # allows for a large model on a slow disk
LOOK_SECONDS = 0.1
TEXT = """\
def area(width, height):
    return width * height


def volume(width, height, depth):
    return area(width, ) * depth
"""
BEFORE = "    return area(width, "


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of a trial. `user_message` describes a failure; `answer` is None if no request was sent.

    `model` is what served.
    """

    user_message: str = ""
    ready_seconds: float = 0.0
    answer: Answer | None = None
    elapsed_ms: float = 0.0
    model: str = ""


def try_worker(choice: EngineChoice, budget_ms: int) -> Trial:
    """Start a worker, wait for its model, request one hole, and stop it."""
    return asyncio.run(_try(choice, budget_ms))


async def _try(choice: EngineChoice, budget_ms: int) -> Trial:
    troubles: list[str] = []
    client = EngineClient(lambda _status: None, troubles.append)
    began = now()
    await client.start(choice)
    try:
        while client.status.state is not State.READY:
            if troubles or now() - began > LOAD_SECONDS:
                return Trial(troubles[0] if troubles else f"no model after {LOAD_SECONDS:.0f} s")
            await asyncio.sleep(LOOK_SECONDS)
        ready_seconds = now() - began
        answer, elapsed_ms = await _ask(client, budget_ms)
        return Trial("".join(troubles[:1]), ready_seconds, answer, elapsed_ms, client.status.model)
    finally:
        await client.stop()


async def _ask(client: EngineClient, budget_ms: int) -> tuple[Answer, float]:
    snapshot = open_text("file:///volume.py", "python", TEXT)
    row = next(row for row, line in enumerate(snapshot.lines) if line.startswith(BEFORE))
    asked = now()
    request = build_request(snapshot, (row, len(BEFORE)), ServerSettings(budget_ms=budget_ms))
    answer = await client.ask(snapshot.uri, request, asked + budget_ms / 1000)
    return answer, (now() - asked) * 1000
