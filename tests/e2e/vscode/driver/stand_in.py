"""A language server that stands in for infill-ls where a test is about finding, losing and outgrowing it.

It offers its own name as ghost text. `program` writes it, configured, where the extension looks for a server; since a
virtual environment's Python is looked for too, it also answers the extension's probe for the module.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

NAME = "infill-ls"


def program(path: Path, **options: Any) -> str:
    """Write an executable that is `main` with these options, its log beside it, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    here = str(Path(__file__).parent)
    text = f"import sys; sys.path.insert(0, {here!r}); import stand_in; stand_in.main({str(path)!r}, **{options!r})"
    path.write_text(f"#!{sys.executable}\n{text}\n")
    path.chmod(0o755)
    return str(path)


def log_of(path: str) -> list[dict[str, Any]]:
    """What a stand-in was told: "started" for each process, then each message."""
    file = Path(f"{path}.log")
    return [json.loads(line) for line in file.read_text().splitlines()] if file.is_file() else []


def starts(path: str) -> int:
    """How often a stand-in was started."""
    return sum(message.get("method") == "started" for message in log_of(path))


def main(
    path: str,
    *,
    says: str = "",
    name: str = NAME,
    version: str = "9.0.0",
    dies_after: float | None = None,
    loads_until: str = "",
) -> None:
    """Serve on stdio; after `dies_after` seconds it crashes.

    Its model is loaded when the file `loads_until` is there.
    """
    if "-c" in sys.argv:
        return  # the extension asks whether this Python has the server
    log = Path(f"{path}.log").open("a")  # noqa: SIM115
    _note(log, {"method": "started"})
    loaded = threading.Event()
    if dies_after is not None:
        threading.Timer(dies_after, lambda: os._exit(70)).start()
    while (message := _read()) is not None:
        _note(log, message)
        method = message.get("method")
        if method == "initialize":
            capabilities = {"textDocumentSync": 2, "inlineCompletionProvider": {}}
            _send(
                id=message["id"],
                result={"capabilities": capabilities, "serverInfo": {"name": name, "version": version}},
            )
            _send(method="infill/status", params={"state": "loading", "fraction": 0.5})
            threading.Thread(target=_load, args=(loads_until, loaded, says), daemon=True).start()
        elif method == "textDocument/inlineCompletion":
            position = message["params"]["position"]
            selected = message["params"]["context"].get("selectedCompletionInfo")
            span = selected["range"] if selected else {"start": position, "end": position}
            items = [{"insertText": says, "range": span}]
            if not loaded.is_set():
                _send(method="infill/status", params={"state": "loading", "fraction": 0.5, "reason": "loading"})
                items = []
            _send(id=message["id"], result={"items": items})
        elif "id" in message and method:
            _send(id=message["id"], result=None)
        elif method == "exit":
            return


def _load(file: str, loaded: threading.Event, name: str) -> None:
    while file and not Path(file).exists():
        time.sleep(0.05)
    loaded.set()
    _send(method="infill/status", params={"state": "ready", "model": name, "device": "cpu"})


def _read() -> dict[str, Any] | None:
    length = 0
    while line := sys.stdin.buffer.readline().strip():
        key, _, value = line.partition(b":")
        length = int(value) if key.lower() == b"content-length" else length
    message: dict[str, Any] | None = json.loads(sys.stdin.buffer.read(length)) if length else None
    return message


def _send(**message: Any) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    os.write(1, b"Content-Length: %d\r\n\r\n%b" % (len(body), body))  # at once: two threads send


def _note(log: Any, message: dict[str, Any]) -> None:
    log.write(json.dumps(message) + "\n")
    log.flush()
