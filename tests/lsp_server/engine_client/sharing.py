"""A shared engine with a toy model, and clients that join it."""

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Callable

import psutil

from infill_engine.serving.protocol import State
from infill_engine.types import Answer, InfillRequest
from lsp_server.engine_client.client import EngineClient
from lsp_server.settings.schema import EngineChoice

WAIT = 30  # seconds after which a test has failed
TOY = """
import argparse, os, time
from infill_engine.types import Answer, Candidate, Reason
from infill_engine.serving.__main__ import add_socket
from infill_engine.serving.listening import serve_socket
from tests.toy_engine import ToyEngine

class Toy(ToyEngine):
    def answer(self, request, deadline, observer):
        if request.prefix == "hang":
            time.sleep(1000)
        while request.prefix.startswith("slow"):
            if deadline.cancelled():
                return Answer(reason=Reason.CANCELLED)
            time.sleep(0.001)
        return Answer((Candidate(request.prefix, 0.5),))

parser = argparse.ArgumentParser()
add_socket(parser)
options = parser.parse_args()
serve_socket(lambda progress: Toy(), options.socket, options.idle_seconds)
"""


def toy_command(_choice: EngineChoice) -> tuple[str, ...]:
    return (sys.executable, "-c", TOY)


@contextlib.asynccontextmanager
async def editor_window(choice: EngineChoice | None = None) -> AsyncIterator[tuple[EngineClient, list[str]]]:
    """A client of the shared engine that is ready, and what it tells the user."""
    told: list[str] = []
    client = EngineClient(lambda _status: None, told.append, toy_command, shared=True)
    await client.start(choice or EngineChoice())
    try:
        await ready(client)
        yield client, told
    finally:
        await client.stop()


def suspend(pid: int | None) -> None:
    """Stop a process, and wait until it stands still: the signal takes a moment."""
    process = psutil.Process(pid)
    process.suspend()
    while process.status() != psutil.STATUS_STOPPED:
        time.sleep(0.001)


async def ready(client: EngineClient) -> None:
    await until(lambda: client.status.state is State.READY and client.process.pid is not None)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT):
        while not holds():
            await asyncio.sleep(0.01)


async def ask(client: EngineClient, prefix: str, seconds: float = WAIT, document: str = "d") -> Answer:
    return await client.ask(document, InfillRequest(prefix, ""), time.monotonic() + seconds)


async def text(client: EngineClient, prefix: str, document: str = "d") -> str:
    return (await ask(client, prefix, document=document)).candidates[0].text
