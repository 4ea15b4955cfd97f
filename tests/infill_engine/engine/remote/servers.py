"""A real HTTP server on this machine that says what a test wants."""

import contextlib
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from infill_engine import Deadline, Draft, InfillRequest, Source
from infill_engine.engine.engine import Engine
from infill_engine.engine.remote.address import read_address
from infill_engine.engine.remote.proposer import RemoteProposer
from infill_engine.engine.remote.server import Server
from infill_engine.ranking.calibration import BUILT_IN

Say = Callable[["Visit"], None]
SECONDS = 30  # after which a test has failed


class Visit(BaseHTTPRequestHandler):
    """One connection; `asked` is the question that the server's `say` is to answer."""

    protocol_version = "HTTP/1.1"
    server: "Teller"
    asked: dict[str, Any]

    def do_POST(self) -> None:
        self.asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.questions.append((self.path, self.asked, dict(self.headers)))
            self.server.clients.add(self.client_address)
        try:
            self.server.say(self)
        except OSError:
            self.server.cut_off.set()
            self.close_connection = True

    def do_GET(self) -> None:
        self.status(200, self.server.listing)

    def log_message(self, *_arguments: Any) -> None:
        pass

    def status(self, code: int, body: bytes = b"{}", **headers: str) -> None:
        self.send_response(code)
        for name, value in {"Content-Length": str(len(body)), "Content-Type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def begin(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def event(self, said: object) -> None:
        data = f"data: {said if isinstance(said, str) else json.dumps(said)}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def piece(self, text: str, last: bool = False, **more: Any) -> None:
        self.event({"choices": [{"text": text, "finish_reason": "stop" if last else None, **more}]})

    def close(self) -> None:
        self.event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def until_cut_off(self) -> None:
        """Goes on with nothing until the other side hangs up."""
        self.connection.settimeout(SECONDS)
        if not self.connection.recv(1):
            raise ConnectionResetError


class Teller(ThreadingHTTPServer):
    daemon_threads = True
    say: Say

    def __init__(self, say: Say, tls: ssl.SSLContext | None) -> None:
        super().__init__(("127.0.0.1", 0), Visit)
        self.scheme = "http"
        if tls is not None:
            self.scheme = "https"
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.say = say
        self.lock = threading.Lock()
        self.questions: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        self.clients: set[Any] = set()
        self.cut_off = threading.Event()
        self.listing = b"{}"

    @property
    def name(self) -> str:
        """The model that it serves, as a user would name it."""
        return f"openai:{self.scheme}://127.0.0.1:{self.server_port}/v1#qwen2.5-coder"


@contextlib.contextmanager
def telling(say: Say, tls: ssl.SSLContext | None = None) -> Iterator[Teller]:
    server = Teller(say, tls)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(SECONDS)


DRAFT = Draft("copied(1)", 12)


REQUEST = InfillRequest("value = ", "\nprint(value)\n", drafts=(DRAFT,))


class Hand:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


def engine_of(server: Teller, clock: Any = None) -> Engine:
    about = Server(read_address(server.name), **({"clock": clock} if clock else {}))
    return Engine(RemoteProposer(about), server.name, BUILT_IN)


def soon() -> Deadline:
    return Deadline.after_ms(SECONDS * 1000)


def texts(answer: Any, source: Source = Source.MODEL) -> list[str]:
    return [candidate.text for candidate in answer.candidates if candidate.source is source]


def tell(visit: Visit) -> None:
    """Three different texts in two pieces each, that of the first question being the surest."""
    number = min(visit.asked["seed"], 2)
    visit.begin()
    visit.piece("alpha" if number == 0 else "beta", logprobs={"token_logprobs": [-0.01 - number]})
    visit.piece(f"({number})", logprobs={"token_logprobs": [-0.01 - number]})
    visit.piece("", last=True)
    visit.close()


def in_one(body: bytes, content_type: str = "application/json") -> Say:
    return lambda visit: visit.status(200, body, Content_Type=content_type)


def until(condition: Any) -> None:
    looks = threading.Event()
    for _ in range(SECONDS * 200):
        if condition():
            return
        looks.wait(0.005)
    pytest.fail("it did not come about")
