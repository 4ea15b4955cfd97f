"""A client that sends whatever it is told to, byte by byte."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

URI = "file:///project/bad.py"


SECRET = "hunter2_in_the_text"


WAIT = 30  # seconds after which a test has failed


def _params(*params: Any) -> dict[str, Any]:
    return {"params": params[0]} if params else {}


REPOSITORY = Path(__file__).parents[3]


class Wire:
    """Raw messages to and from a server whose engine is switched off or on by `options`."""

    def __init__(
        self,
        log: Path,
        options: object,
        capabilities: object = None,
        *,
        greets: bool = True,
        introduces: bool = True,
        client: int | None = None,
    ) -> None:
        self.log = log
        self.client = client
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lsp_server", "serve", "--stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log.open("wb"),
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        )
        if introduces:
            self.initialize(options, capabilities)
        if greets:
            self.tell("initialized", {})

    def initialize(self, options: object, capabilities: object = None) -> None:
        params = {"processId": self.client, "rootUri": None, "capabilities": capabilities or {}}
        self.send(1, "initialize", {**params, "initializationOptions": options})
        assert "capabilities" in self.answer(1)["result"]

    def write(self, body: bytes) -> None:
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def tell(self, method: str, *params: Any) -> None:
        """A notification; without parameters where none are given."""
        self.write(json.dumps({"jsonrpc": "2.0", "method": method, **_params(*params)}).encode())

    def send(self, request_id: Any, method: str, *params: Any) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, **_params(*params)}).encode())

    def answer(self, request_id: Any) -> dict[str, Any]:
        """The answer to that request. Nothing that comes before it may quote the user's text."""
        patience = threading.Timer(WAIT, self.process.kill)  # whoever waits in vain reads the end of the stream
        patience.start()
        try:
            while (message := self.read()).get("id") != request_id or "method" in message:
                assert SECRET not in json.dumps(message)
            return message
        finally:
            patience.cancel()

    def read(self) -> dict[str, Any]:
        length = 0
        while (line := self.process.stdout.readline()).strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        assert length, "the server has closed its stdout"
        return json.loads(self.process.stdout.read(length))

    def alive(self) -> None:
        self.send("alive?", "textDocument/inlineCompletion", inline())
        assert "result" in self.answer("alive?")

    def until(self, state: str) -> None:
        """Wait until the engine is so."""
        for _ in range(200):
            self.send("state?", "infill/getStatus")
            if self.answer("state?")["result"]["state"] == state:
                return
            time.sleep(0.05)
        raise AssertionError(f"never {state}")

    def leave(self) -> int:
        self.process.stdin.close()
        return self.process.wait(10)


def inline(line: Any = 1, character: Any = 4, kind: Any = 1, uri: Any = URI, **more: Any) -> dict[str, Any]:
    return {
        "textDocument": {"uri": uri},
        "position": {"line": line, "character": character},
        "context": {"triggerKind": kind},
        **more,
    }
