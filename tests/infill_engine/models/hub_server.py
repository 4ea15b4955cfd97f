"""A hub on this machine: a real HTTP server that speaks as much of the protocol as fetching a model takes."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """What is published, by name; `refusals` are statuses with the error code the real ones send."""

    models: dict[str, Path] = field(default_factory=dict)
    refusals: dict[str, tuple[int, str]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    cut_after: int = 0  # bytes of a file after which the connection breaks, once
    stalls_after: int = 0  # bytes of a file after which nothing comes until `go_on`, once
    go_on: threading.Event = field(default_factory=threading.Event)
    endpoint: str = ""

    def environment(self, home: Path) -> dict[str, str]:
        """What makes the library use this hub, keep its cache in `home`, and know no account."""
        return {"HF_ENDPOINT": self.endpoint, "HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1"}


class Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self.answer(with_body=False)

    def do_GET(self) -> None:
        self.answer(with_body=True)

    def answer(self, *, with_body: bool) -> None:
        self.hub.requests.append(f"{self.command} {self.path}")
        path = self.path.partition("?")[0].strip("/")
        parts = path.removeprefix("api/models/").split("/")
        name = "/".join(parts[:2])
        if name in self.hub.refusals:
            status, code = self.hub.refusals[name]
            self.send(status, b"{}", {"X-Error-Code": code} if code else {}, with_body=with_body)
        elif name not in self.hub.models:
            self.send(404, b"{}", {"X-Error-Code": "RepoNotFound"}, with_body=with_body)
        elif not path.startswith("api/"):
            self.send_file(self.hub.models[name] / "/".join(parts[4:]), with_body=with_body)
        elif len(parts) == 2 or parts[2] == "revision":
            about = {"id": name, "sha": COMMIT, "siblings": []}
            self.send(200, json.dumps(about).encode(), {}, with_body=with_body)
        else:
            self.send(200, json.dumps(list(tree(self.hub.models[name]))).encode(), {}, with_body=with_body)

    def send(self, status: int, body: bytes, headers: dict[str, str], *, with_body: bool = True) -> None:
        self.send_response(status)
        for key, value in ({"Content-Type": "application/json", "Content-Length": str(len(body))} | headers).items():
            self.send_header(key, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def send_file(self, path: Path, *, with_body: bool) -> None:
        if not path.is_file():
            self.send(404, b"{}", {"X-Error-Code": "EntryNotFound"}, with_body=with_body)
            return
        data = path.read_bytes()
        about = {"ETag": f'"{digest(path)}"', "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"}
        asked = self.headers.get("Range")
        start = int(asked.removeprefix("bytes=").partition("-")[0]) if asked else 0
        if asked:
            self.hub.requests.append(f"RANGE {path.name} {start}")
            about["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        if with_body and 0 < self.hub.cut_after < len(data) - start:
            self.send_response(200)
            for key, value in (about | {"Content-Length": str(len(data) - start)}).items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(data[start : start + self.hub.cut_after])
            self.hub.cut_after = 0
            self.close_connection = True
            self.connection.close()
            return
        if with_body and self.hub.stalls_after:
            before, self.hub.stalls_after = self.hub.stalls_after, 0
            self.send(206 if asked else 200, data[start:][:before], about | {"Content-Length": str(len(data) - start)})
            self.hub.go_on.wait(60)
            return
        self.send(206 if asked else 200, data[start:], about, with_body=with_body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """Answers at `hub.endpoint` while it lasts."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Serving", (Handler,), {"hub": hub}))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    hub.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()


def tree(folder: Path) -> Iterator[dict[str, object]]:
    """The listing of a model's files."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            yield {"type": "file", "path": name, "size": path.stat().st_size, "oid": digest(path)}


def digest(path: Path) -> str:
    return hashlib.sha1(path.read_bytes()).hexdigest()
