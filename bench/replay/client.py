"""A small LSP client over pipes: framed JSON-RPC, a reader thread, and timestamps on both ends.

It is smaller than a library's client, so that its own cost does not affect the numbers. An answer's time is taken when
its last byte has been read, before decoding.
"""

import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import IO, Any

from infill_engine.errors import EngineError
from infill_engine.models.checkpoint.user_data import STATE_DIR
from infill_engine.serving.runtime_files import RUNTIME_DIR
from lsp_server.engine_client.shared import IDLE_SECONDS
from lsp_server.protocol.messages import LATE_ANSWER, LATE_ANSWERS

SERVER = (sys.executable, "-m", "lsp_server", "serve")
PACKAGES = Path(__file__).parents[2]  # the folder that lsp_server lies in
WAIT_SECONDS = 120.0  # for any expected message; a model may take long to load

Position = dict[str, int]


@dataclass(slots=True)
class Pending:
    """A pending request. Times are in seconds of `perf_counter`."""

    sent: float
    arrived: float = 0.0
    result: Any = None
    error: Any = None
    done: threading.Event = field(default_factory=threading.Event)

    def wait(self) -> "Pending":
        """Wait for the answer and return this request. Raises EngineError if none comes."""
        if not self.done.wait(WAIT_SECONDS):
            raise EngineError(f"no answer within {WAIT_SECONDS:.0f} s; run the server by hand and look at its log")
        return self

    @property
    def elapsed_ms(self) -> float:
        return 1000 * (self.arrived - self.sent)


class LspClient:
    """One server process, initialized by `initialize` and stopped by `close`."""

    def __init__(
        self,
        log: IO[str] | int = subprocess.DEVNULL,
        state: Path | None = None,
        runtime: Path | None = None,
        server: Sequence[str] = SERVER,
    ) -> None:
        """Start a server by the command line `server`. `state` is the folder of its statistics, if not the user's.

        `runtime` is the folder of the engine that it shares. Without one, the server has an engine of its own, which
        nobody else uses and which ends with it.
        """
        self.started = perf_counter()
        self._own_runtime = Path(tempfile.mkdtemp(prefix="infill-")) if runtime is None else None
        own = {RUNTIME_DIR: str(runtime or self._own_runtime), IDLE_SECONDS: "0"}
        if state is not None:
            own[STATE_DIR] = str(state)
        environment = {**os.environ, "PYTHONPATH": str(PACKAGES), **own}
        self.process = subprocess.Popen(
            server, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment
        )
        self.states: list[str] = []
        self.profile = ""  # the profile of the loaded model
        self.late: Any = None  # where to ask again, of the newest late answer
        self._ids = itertools.count(1)
        self._pending: dict[int, Pending] = {}
        self._heard = threading.Condition()
        self._writing = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def initialize(self, options: dict[str, Any], *, late_answers: bool = False) -> float:
        """Send `initialize` with these options. Return the milliseconds from process start to the response.

        With `late_answers`, the client asks again when it is told to, as the plugins for Neovim and VS Code do.
        """
        capabilities = {
            "general": {"positionEncodings": ["utf-16"]},
            "textDocument": {"inlineCompletion": {}},
            "experimental": {LATE_ANSWERS: late_answers},
        }
        params = {
            "processId": os.getpid(),
            "rootUri": None,
            "capabilities": capabilities,
            "initializationOptions": options,
        }
        answered = self.request("initialize", params).wait()
        if answered.error is not None:
            raise EngineError(f"the server refused to initialize: {answered.error}")
        self.notify("initialized", {})
        return 1000 * (answered.arrived - self.started)

    def until_ready(self) -> float:
        """Wait for the model. Return the milliseconds from process start. Raises EngineError if it cannot be loaded."""
        with self._heard:
            self._heard.wait_for(lambda: {"ready", "failed"} & set(self.states), WAIT_SECONDS)
        if "ready" not in self.states:
            raise EngineError("the engine did not become ready; run `infill-ls doctor`")
        return 1000 * (perf_counter() - self.started)

    def request(self, method: str, params: Any) -> Pending:
        """Send a request without waiting for its answer."""
        number = next(self._ids)
        body = _encoded({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        pending = self._pending[number] = Pending(perf_counter())
        self._write(body)
        return pending

    def cancel(self, pending: Pending) -> None:
        """Cancel a request that has not been answered."""
        for number, known in list(self._pending.items()):
            if known is pending:
                self.notify("$/cancelRequest", {"id": number})

    def notify(self, method: str, params: Any) -> None:
        self._write(_encoded({"jsonrpc": "2.0", "method": method, "params": params}))

    def close(self) -> int:
        """Shut the server down as an editor does. Return its exit status."""
        self.request("shutdown", None).wait()
        self.notify("exit", None)
        status = self.process.wait(WAIT_SECONDS)
        if self._own_runtime is not None:
            shutil.rmtree(self._own_runtime, ignore_errors=True)
        return status

    def _write(self, body: bytes) -> None:
        assert self.process.stdin is not None
        with self._writing:
            self.process.stdin.write(body)
            self.process.stdin.flush()

    def _read(self) -> None:
        assert self.process.stdout is not None
        while (body := _next_body(self.process.stdout)) is not None:
            arrived = perf_counter()
            message = json.loads(body)
            if "method" in message:
                self._receive(message)
            elif (pending := self._pending.pop(message["id"], None)) is not None:
                pending.arrived, pending.result = arrived, message.get("result")
                pending.error = message.get("error")
                pending.done.set()

    def _receive(self, message: dict[str, Any]) -> None:
        if "id" in message:  # a request from the server; always answered with null
            self._write(_encoded({"jsonrpc": "2.0", "id": message["id"], "result": None}))
        elif message["method"] == LATE_ANSWER:
            self.late = message["params"]
        elif message["method"] == "infill/status":
            with self._heard:
                self.states.append(message["params"]["state"])
                if self.states[-1] == "ready":
                    self.profile = message["params"]["detail"]
                self._heard.notify_all()


def _encoded(message: dict[str, Any]) -> bytes:
    body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def _next_body(stream: IO[bytes]) -> bytes | None:
    length = 0
    line: bytes = stream.readline()
    while line.strip():
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            length = int(value)
        line = stream.readline()
    return stream.read(length) if line else None
