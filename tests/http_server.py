"""A real `infill-ls serve --http` (or `--ray`), and requests to it."""

import contextlib
import http.client
import json
import os
import re
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import trustme

WAIT = 120  # seconds after which a test has failed
START_SECONDS = {"--http": WAIT, "--ray": 300}  # Ray starts nine processes
SCRIPT = {
    "rules": [
        {"before": "x = ", "candidates": ["alpha(1)", "beta(2)", "gamma"]},
        {"before": "():\n    ", "candidates": ["one = 1\n    return one", "pass"]},
        {"before": "😀 + ", "candidates": ["'ünï'"]},
        {"before": "nothing = ", "candidates": []},
    ]
}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[Any]:
        """The server-sent events before the last, which is [DONE]."""
        *events, done, rest = self.body.decode().split("\n\n")
        assert (done, rest) == ("data: [DONE]", "")
        return [json.loads(event.removeprefix("data: ")) for event in events]


@dataclass(frozen=True)
class Server:
    url: str
    process: psutil.Process
    log: Path
    tls: ssl.SSLContext | None = field(default=None)

    @property
    def address(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        assert parts.port is not None
        return parts.hostname, parts.port

    def connect(self) -> http.client.HTTPConnection:
        if self.tls is not None:
            return http.client.HTTPSConnection(*self.address, timeout=WAIT, context=self.tls)
        return http.client.HTTPConnection(*self.address, timeout=WAIT)

    def send(self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Answer:
        with contextlib.closing(self.connect()) as connection:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            named = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, named, response.read())

    def get(self, path: str, headers: dict[str, str] | None = None) -> Answer:
        return self.send("GET", path, None, headers)

    def post(self, path: str, content: Any, headers: dict[str, str] | None = None) -> Answer:
        return self.send(
            "POST", path, json.dumps(content).encode(), {"Content-Type": "application/json", **(headers or {})}
        )

    def ready(self) -> None:
        end = time.monotonic() + WAIT
        while self.get("/health").status != 200:
            assert time.monotonic() < end, self.log.read_text()
            time.sleep(0.05)


def certified(folder: Path) -> tuple[tuple[str, ...], ssl.SSLContext]:
    """The options for a certificate of this machine's, and a context that trusts it. Its files lie in `folder`."""
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    chain, private = folder / "chain.pem", folder / "private.pem"
    chain.write_bytes(b"".join(blob.bytes() for blob in certificate.cert_chain_pems))
    private.write_bytes(certificate.private_key_pem.bytes())
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    return ("--tls-certificate", str(chain), "--tls-key", str(private)), trusting


@contextlib.contextmanager
def serving(
    folder: Path,
    *options: str,
    script: Any = None,
    settings: dict[str, Any] | None = None,
    tls: ssl.SSLContext | None = None,
    how: str = "--http",
) -> Iterator[Server]:
    """A server at a free port, with an engine that follows a script. What it keeps lies in `folder`."""
    said = folder / "script.json"
    said.write_text(json.dumps(script or SCRIPT))
    content = {"model": f"scripted:{said}", "budgetMs": 5000, "showThreshold": 0, **(settings or {})}
    (folder / "settings.json").write_text(json.dumps(content))
    log = folder / "log.txt"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "lsp_server", "serve", how, "--port", "0", *options],
            stderr=errors,
            env={**os.environ, "INFILL_STATE_DIR": str(folder)},
        )
    try:
        yield Server(_listening(process, log, START_SECONDS[how]), psutil.Process(process.pid), log, tls)
    finally:
        process.terminate()
        process.wait(START_SECONDS[how])


def _listening(process: "subprocess.Popen[bytes]", log: Path, seconds: float) -> str:
    end = time.monotonic() + seconds
    while (found := re.search(r"listening on (\S+)", log.read_text())) is None:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.01)
    return found[1]
