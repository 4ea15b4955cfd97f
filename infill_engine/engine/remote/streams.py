"""One request over one connection: sent, read as the answer arrives, and ended at once when it is no longer needed.

Each stream has its own thread, because no call into a socket library can both have a deadline and be cancelled: name
resolution takes as long as the system likes. The waiting caller checks what has arrived and continues without the rest.
`end` closes the connection under the thread, which a server takes as the signal to stop computing.
"""

import http.client
import json
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from infill_engine.budget.deadline import Deadline
from infill_engine.engine.remote.address import Address
from infill_engine.engine.remote.dialects import Dialect, FimRequest
from infill_engine.engine.remote.faults import MalformedAnswerError, RefusedError

KEPT_CONNECTIONS = 16
LEAST_SECONDS = 0.001
LARGEST_LINE = 1 << 20  # bytes; the limit for the whole answer if it is not a stream of events
EVENT = b"data:"
DONE = b"[DONE]"


class Connections:
    """Connections to one server. A connection whose answer was read to its end is kept for the next request."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._tls = ssl.create_default_context() if address.encrypted else None
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()

    def take(self) -> http.client.HTTPConnection | None:
        """Return a kept connection, if there is one. The server may have closed it meanwhile."""
        with self._lock:
            return self._idle.pop() if self._idle else None

    def new(self, seconds: float) -> http.client.HTTPConnection:
        """Return a new, unopened connection that times out after `seconds` without data."""
        host, port = self._address.host, self._address.port
        if self._tls is not None:
            return http.client.HTTPSConnection(host, port, timeout=seconds, context=self._tls)
        return http.client.HTTPConnection(host, port, timeout=seconds)

    def keep(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if connection.sock is not None and len(self._idle) < KEPT_CONNECTIONS:
                self._idle.append(connection)
                return
        connection.close()


@dataclass(eq=False)
class Stream:
    """A request in progress. Only its thread writes to it, except for `end`; calls `changed` when it is over."""

    connections: Connections
    dialect: Dialect
    headers: Mapping[str, str]
    request: FimRequest
    deadline: Deadline
    changed: Callable[[], None]
    text: str = ""
    logprobs: tuple[float, ...] = ()
    complete: bool = False  # the text is complete
    finished: bool = False  # no more data will arrive
    fault: Exception | None = None  # other than that time ran out
    status: int = 0  # of a refusal
    retry_after: str = ""
    _withdrawn: bool = False
    _socket: socket.socket | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self) -> None:
        threading.Thread(target=self._run, name="request", daemon=True).start()

    def end(self) -> None:
        """End the request once nobody waits for it. Cut off an incomplete answer."""
        with self._lock:
            if self.finished or self.complete:
                return
            self._withdrawn = True
            if self._socket is not None:
                # The system's call and not that of a TLS socket: the thread may be in the middle of a read.
                with suppress(OSError):
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def _run(self) -> None:
        try:
            self._ask()
        except TimeoutError:
            pass
        except RefusedError as fault:
            if not self._withdrawn:
                self.fault, self.status, self.retry_after = fault, fault.status, fault.retry_after
        except (OSError, http.client.HTTPException, MalformedAnswerError) as fault:
            if not self._withdrawn:
                self.fault = fault
        finally:
            self.finished = True
            self.changed()

    def _ask(self) -> None:
        data = json.dumps(self.dialect.body(self.request)).encode("utf-8", "replace")
        connection, response = self._send(data)
        try:
            if response.status != http.client.OK:
                raise RefusedError(response.status, response.headers.get("Retry-After", ""))
            self._read(response)
        finally:
            if self.complete and response.isclosed():
                self.connections.keep(connection)
            else:
                connection.close()

    def _send(self, data: bytes) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Send the request over a kept connection; over a new one if there is none or the server has closed it."""
        kept = self.connections.take()
        if kept is not None:
            try:
                return kept, self._exchange(kept, data)
            except (ConnectionError, ssl.SSLError, http.client.BadStatusLine):
                kept.close()
                if self._withdrawn:  # `end` closed the connection, not the server
                    raise
        connection = self.connections.new(self._seconds())
        try:
            return connection, self._exchange(connection, data)
        except BaseException:
            connection.close()
            raise

    def _exchange(self, connection: http.client.HTTPConnection, data: bytes) -> http.client.HTTPResponse:
        if connection.sock is None:
            connection.connect()
        else:
            connection.sock.settimeout(self._seconds())
        with self._lock:
            if self._withdrawn:
                raise ConnectionAbortedError
            self._socket = connection.sock
        connection.request("POST", self.dialect.path, data, dict(self.headers))
        return connection.getresponse()

    def _read(self, response: http.client.HTTPResponse) -> None:
        if response.headers.get_content_type() != "text/event-stream":
            self._take(response.read(LARGEST_LINE))
            self.complete = True
            return
        while line := response.readline(LARGEST_LINE):
            event = line.strip()
            if event.startswith(EVENT) and not self.complete:
                event = event.removeprefix(EVENT).strip()
                if event == DONE:
                    self.complete = True
                else:
                    self._take(event)
                if self.complete:
                    self.changed()  # the rest is read only so that the connection can be reused

    def _take(self, event: bytes) -> None:
        try:
            said = json.loads(event)
            if said.get("error"):
                raise RefusedError(_status(said["error"]))
            chunk = self.dialect.chunk(said)
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError):
            raise MalformedAnswerError from None
        self.text += chunk.text
        self.logprobs += chunk.logprobs
        # Not all servers support a stop text, and none supports a number of lines.
        self.complete = chunk.last or (self.request.one_line and "\n" in self.text.lstrip("\n"))

    def _seconds(self) -> float:
        return max(LEAST_SECONDS, self.deadline.remaining_ms() / 1000)


def _status(error: object) -> int:
    """Return the HTTP status that corresponds to an error in the middle of a stream."""
    match error:
        case {"code": int(code)}:
            return code
    return http.client.INTERNAL_SERVER_ERROR
