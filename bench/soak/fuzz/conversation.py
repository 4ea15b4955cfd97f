"""A server that is talked to in process: bytes in, messages out. Its engine never starts.

The server reads with the same code as from stdin. What it logs is kept, to be searched for the user's text.
"""

import asyncio
import io
import json
import logging
import os
import re
import tempfile
from threading import Event
from types import TracebackType
from typing import Any

from pygls.io_ import run_async

from infill_engine.models.checkpoint.user_data import STATE_DIR
from lsp_server.protocol.stdio import MessageReader
from lsp_server.protocol.wire import silence_libraries
from lsp_server.server import create_server

_LENGTH = re.compile(rb"Content-Length: (\d+)\r\n")
QUICK_TURNS, TURNS = 20, 2_000  # of the event loop, in which every request has to be answered


class LeftError(Exception):
    """The server was told to exit, or cannot find the next message."""


class Conversation:
    """An initialized server. Use it in a `with` statement."""

    def __init__(self, encoding: str = "utf-16") -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="infill-")
        self._before = os.environ.get(STATE_DIR)
        os.environ[STATE_DIR] = self._folder.name
        silence_libraries()
        self.log = io.StringIO()
        self._handler = logging.StreamHandler(self.log)
        logging.getLogger().addHandler(self._handler)
        self._out = _Writer()
        self._loop = asyncio.new_event_loop()
        self.server, self.session = create_server()
        self.session.engine.start = _do_nothing  # type: ignore[method-assign]
        self.session.next_edits.pause_seconds = 0.0
        self.server.protocol.set_writer(self._out)
        capabilities = {"general": {"positionEncodings": [encoding]}, "textDocument": {"inlineCompletion": {}}}
        self.say({"id": "first", "method": "initialize", "params": {"capabilities": capabilities}})
        self._out.take()

    def __enter__(self) -> "Conversation":
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _fault: BaseException | None, _at: TracebackType | None
    ) -> None:
        self._loop.run_until_complete(self.session.end())
        self._loop.close()
        logging.getLogger().removeHandler(self._handler)
        self._folder.cleanup()
        if self._before is None:
            del os.environ[STATE_DIR]
        else:
            os.environ[STATE_DIR] = self._before

    def say(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        """Send a message. Return what the server says until it has nothing more to do."""
        return self.feed(framed(json.dumps({"jsonrpc": "2.0", **message}).encode()))

    def feed(self, stream: bytes) -> list[dict[str, Any]]:
        """Send bytes, as a stream that ends. Raises LeftError if the server exits, and whatever else it raises."""
        try:
            self._loop.run_until_complete(self._read(stream))
        except (SystemExit, ValueError):  # a ValueError is of a length; see `lsp_server.server`
            raise LeftError from None
        return self._out.take()

    def text(self, uri: str) -> str | None:
        """Return the text that the server holds."""
        snapshot = self.session.workspace.documents.get(uri)
        return None if snapshot is None else "".join(snapshot.lines)

    async def _read(self, stream: bytes) -> None:
        own = asyncio.current_task()
        reader = MessageReader(io.BytesIO(stream), self.server.protocol.message_arrived)
        await run_async(Event(), reader, self.server.protocol, _log, self.server.report_server_error)
        for turn in range(TURNS):
            if all(task is own for task in asyncio.all_tasks()):
                return
            await asyncio.sleep(0 if turn < QUICK_TURNS else 0.002)


def framed(body: bytes) -> bytes:
    """Return a body with its header."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class _Writer:
    """Keeps what the server writes."""

    def __init__(self) -> None:
        self._written = bytearray()

    def write(self, data: bytes) -> None:
        self._written += data

    def close(self) -> None:
        pass

    def take(self) -> list[dict[str, Any]]:
        """Return the messages since the last call."""
        stream, messages = bytes(self._written), []
        self._written.clear()
        while stream:
            header, _, rest = stream.partition(b"\r\n\r\n")
            found = _LENGTH.search(header + b"\r\n")
            assert found is not None, "what the server writes has no length"
            messages.append(json.loads(rest[: int(found[1])]))
            stream = rest[int(found[1]) :]
        return messages


async def _do_nothing(*_arguments: object, **_options: object) -> None:
    pass


_log = logging.getLogger("lsp_server.server")
