"""A connection to an engine: a private one over pipes, or the one that all editor windows share over a socket."""

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

import infill_engine
from infill_engine.errors import EngineError
from infill_engine.serving.frames import MAX_FRAME_BYTES, decode, encode
from infill_engine.serving.protocol import Message
from lsp_server.settings.schema import EngineChoice

EXIT_SECONDS = 1.0
MOST_QUEUED_BYTES = 4 * 1024 * 1024  # nothing more is sent to an engine with this much unread input
# Not the editor's folder, where a file could shadow one of our modules.
WORKING_FOLDER = Path(infill_engine.__file__).parent.parent

Command = Callable[[EngineChoice], Sequence[str]]
log = logging.getLogger(__name__)


def engine_command(choice: EngineChoice) -> Sequence[str]:
    """Return the command line that starts an engine."""
    return (sys.executable, "-m", "infill_engine.serving", *engine_options(choice))


def engine_options(choice: EngineChoice) -> tuple[str, ...]:
    """Return the options that decide which clients share an engine."""
    engine = ("--model", choice.model, "--device", choice.device, "--precision", choice.precision)
    return (*engine, "--api-key-variable", choice.key_variable)


@dataclass(eq=False)
class Link:
    """An open connection. `process` is that of a private engine."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    pid: int
    process: asyncio.subprocess.Process | None = None

    def send(self, message: Message) -> bool:
        """Send a message. Return False if the connection is closed or too much is unread."""
        if self.writer.is_closing() or self.writer.transport.get_write_buffer_size() > MOST_QUEUED_BYTES:
            return False
        try:
            self.writer.write(encode(message))
        except (OSError, EngineError) as fault:
            log.warning("could not send to the engine: %s", type(fault).__name__)
            return False
        return True

    async def messages(self) -> AsyncIterator[Message]:
        """Yield what the engine says until the connection ends."""
        while (payload := await read_frame_async(self.reader)) is not None:
            if (message := decode(payload)) is not None:
                yield message

    async def exit_code(self) -> int:
        """Return the engine's exit code, -1 if it is not known. Call it when there are no more frames."""
        if self.process is None:
            return -1
        try:
            return await asyncio.wait_for(self.process.wait(), EXIT_SECONDS)
        except TimeoutError:  # it closed its pipe but did not exit
            return -1

    def kill(self) -> None:
        """End an engine that hangs. All its clients start another."""
        kill(self.pid)

    async def close(self) -> None:
        """Close the connection. This ends a private engine, but not a shared engine."""
        if self.process is not None:
            if self.process.returncode is None:
                self.process.kill()  # an engine has no state worth saving
                await self.process.wait()
            return
        with contextlib.suppress(OSError):
            self.writer.transport.abort()

    async def has_ended(self, seconds: float) -> bool:
        """Return whether the engine's process ends within this time."""
        try:
            process = psutil.Process(self.pid)
            await asyncio.to_thread(process.wait, seconds)
        except psutil.NoSuchProcess:
            return True
        except psutil.TimeoutExpired:
            return False
        return True


async def read_frame_async(stream: asyncio.StreamReader) -> bytes | None:
    """Return the next frame's payload; None at the end. A too large frame counts as the end: no engine sends one."""
    try:
        length = int.from_bytes(await stream.readexactly(4), "big")
        return await stream.readexactly(length) if length <= MAX_FRAME_BYTES else None
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def kill(pid: int) -> None:
    """Kill an engine's process. It has no state worth saving."""
    with contextlib.suppress(psutil.Error):
        psutil.Process(pid).kill()


async def start_private(command: Sequence[str]) -> Link:
    """Start an engine that ends with this server. Raises OSError."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=WORKING_FOLDER,
        start_new_session=os.name == "posix",  # keeps the editor's Ctrl-C from reaching it
    )
    assert process.stdout is not None
    assert process.stdin is not None
    return Link(process.stdout, process.stdin, process.pid, process)
