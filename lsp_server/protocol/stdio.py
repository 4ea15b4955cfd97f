"""Reads stdin and writes stdout.

Stdin is read in a separate thread, so that the arrival of a message is timed however busy the event loop is.
A request's deadline counts from its arrival. A request often follows an edit at once and waits while the edit is
handled.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO, cast

from pygls.io_ import StdoutWriter

from infill_engine.budget.deadline import Clock, now

LARGEST_MESSAGE = 512 * 1024 * 1024  # bytes; several times the largest document that is completed
LARGEST_HEADER = 64 * 1024  # bytes; at most twice as much waits to be read
CHUNK = 64 * 1024  # bytes per read
CHUNKS = 16  # reads that wait for the event loop at most


class MessageReader:
    """The reader that `pygls.io_.run_async` asks for lines and bodies. Create it on the event loop.

    `on_arrival` gets the time at which the last byte of a message was read, just before the message is returned.
    """

    def __init__(self, stdin: BinaryIO, on_arrival: Callable[[float], object], clock: Clock = now) -> None:
        self._stdin, self._on_arrival, self._clock = stdin, on_arrival, clock
        self._loop = asyncio.get_running_loop()
        self._stream = asyncio.StreamReader(LARGEST_HEADER, self._loop)
        self._stream.set_transport(cast(asyncio.Transport, self))  # it pauses and resumes reading
        self._may_read = threading.Event()
        self._may_read.set()
        self._room = threading.Semaphore(CHUNKS)
        self._fed = self._taken = 0  # bytes
        self._times: deque[tuple[int, float]] = deque()  # how many bytes had been read by when
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    async def readline(self) -> bytes:
        """Return the next line, b"" at the end. Raises ValueError for more than `LARGEST_HEADER`."""
        line = await self._stream.readline()
        self._taken += len(line)
        return line

    async def readexactly(self, n: int) -> bytes:
        """Return the next `n` bytes, fewer at the end. Raises ValueError for more than `LARGEST_MESSAGE`."""
        if n > LARGEST_MESSAGE:
            raise ValueError(f"a message of {n} bytes")
        try:
            body = await self._stream.readexactly(n)
        except asyncio.IncompleteReadError as end:
            return end.partial
        # The handler of the previous message must take its snapshot before this message changes the document.
        await asyncio.sleep(0)
        self._taken += n
        while self._times[0][0] < self._taken:
            self._times.popleft()
        self._on_arrival(self._times[0][1])
        return body

    def pause_reading(self) -> None:
        """Let the client wait. `asyncio.StreamReader` calls this when enough has been read ahead."""
        self._may_read.clear()

    def resume_reading(self) -> None:
        """Go on. `asyncio.StreamReader` calls this when more is wanted."""
        self._may_read.set()

    def _read(self) -> None:
        read = getattr(self._stdin, "read1", self._stdin.read)
        with suppress(RuntimeError):  # the event loop has ended
            with suppress(OSError, ValueError):  # stdin was closed
                while chunk := read(CHUNK):
                    moment = self._clock()
                    self._room.acquire()
                    self._loop.call_soon_threadsafe(self._feed, chunk, moment)
                    self._may_read.wait()
            self._loop.call_soon_threadsafe(self._stream.feed_eof)

    def _feed(self, chunk: bytes, moment: float) -> None:
        self._room.release()
        self._fed += len(chunk)
        self._times.append((self._fed, moment))
        self._stream.feed_data(chunk)


class MessageWriter(StdoutWriter):
    """Writes messages to stdout. Ignores a closed pipe, because no client is left."""

    def __init__(self, stdout: BinaryIO, on_closed: Callable[[], None]) -> None:
        super().__init__(stdout)
        self._on_closed = on_closed

    def write(self, data: bytes) -> None:
        """Write a message; call `on_closed` if nobody reads any more."""
        try:
            super().write(data)
        except OSError:
            self._on_closed()
