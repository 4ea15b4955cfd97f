"""Bytes for the server's decoder: odd messages, damaged bodies, headers that lie.

Each request is answered once, nothing else is answered, the server goes on, and its log has no text of a document.
"""

import json
import random
from typing import Any

from bench.soak.fuzz.conversation import Conversation, LeftError, framed
from bench.soak.fuzz.values import changed, damaged, value

URI, SECRET = "file:///project/fuzz.py", "hunter2_in_the_text"
TEXT = f"# {SECRET} 😀\nx = 1\n"
_PLACE = {"line": 1, "character": 4}
_SPAN = {"start": {"line": 1, "character": 0}, "end": _PLACE}
_HERE = {"textDocument": {"uri": URI}, "position": _PLACE}
_OPENED = {"uri": URI, "languageId": "python", "version": 0, "text": TEXT}
_CHANGES = [{"range": _SPAN, "text": SECRET}, {"text": TEXT}]
_NOTEBOOK, _CELLS = "file:///project/fuzz.ipynb", [{"kind": 1, "document": "a"}, {"kind": 2, "document": URI}]
_OPENED_NOTEBOOK = {"uri": _NOTEBOOK, "notebookType": "jupyter-notebook", "version": 0, "cells": _CELLS}
_SPLICE = {"array": {"start": 0, "deleteCount": 1, "cells": _CELLS}, "didOpen": [_OPENED], "didClose": [{"uri": "a"}]}
_EDIT = {"document": {"uri": URI, "version": 1}, "changes": _CHANGES}
_NOTEBOOK_CHANGE = {
    "notebookDocument": {"uri": _NOTEBOOK, "version": 1},
    "change": {"cells": {"structure": _SPLICE, "textContent": [_EDIT], "data": _CELLS}},
}
_ACTION = {"textDocument": {"uri": URI}, "range": _SPAN, "context": {"diagnostics": []}}
TEMPLATES: tuple[tuple[str, Any], ...] = (
    ("textDocument/inlineCompletion", {**_HERE, "context": {"triggerKind": 1}}),
    (
        "textDocument/inlineCompletion",
        {**_HERE, "context": {"triggerKind": 2, "selectedCompletionInfo": {"range": _SPAN, "text": SECRET}}},
    ),
    ("infill/candidates", {**_HERE, "candidates": 3, "range": {"start": _PLACE, "end": _PLACE}}),
    ("infill/nextEdit", _HERE),
    ("textDocument/copilotInlineEdit", _HERE),
    ("textDocument/codeAction", _ACTION),
    ("codeAction/resolve", {"title": "a", "data": {"uri": URI, "version": 0}}),
    ("infill/getStatus", {}),
    ("workspace/executeCommand", {"command": "infill.accepted", "arguments": [{"uri": URI, "version": 0, "index": 0}]}),
    ("workspace/executeCommand", {"command": "infill.nextEdit.dismiss", "arguments": [{"uri": URI, "id": "1-0"}]}),
    ("textDocument/didOpen", {"textDocument": _OPENED}),
    ("textDocument/didChange", {"textDocument": {"uri": URI, "version": 1}, "contentChanges": _CHANGES}),
    ("textDocument/didClose", {"textDocument": {"uri": URI}}),
    ("notebookDocument/didOpen", {"notebookDocument": _OPENED_NOTEBOOK, "cellTextDocuments": [_OPENED]}),
    ("notebookDocument/didChange", _NOTEBOOK_CHANGE),
    ("notebookDocument/didClose", {"notebookDocument": {"uri": _NOTEBOOK}, "cellTextDocuments": []}),
    ("infill/cursor", _HERE),
    ("infill/didDismissNextEdit", {"textDocument": {"uri": URI}, "id": "1-0"}),
    ("workspace/didChangeConfiguration", {"settings": {"infill": {"candidates": 2, "excludes": ["*.sql"]}}}),
    ("$/cancelRequest", {"id": 1}),
    ("$/setTrace", {"value": "verbose"}),
    ("no/such/method", {"any": SECRET}),
)
LENGTHS = (b"0", b"1", b"7", b"100000", b"-5", b"+3", b"1e3", b"", b"99999999999", b"99999999999999999999", b"\xb2")
RENEWED = 400  # inputs, then the server is replaced


class WireFuzz:
    """Feeds odd bytes to a server in process. `requests` counts those that had to be answered, and were."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._inputs = 0
        self.requests = 0
        self._server: Conversation | None = None

    def once(self) -> None:
        """Feed one input. Raises AssertionError, or whatever the server should not have raised."""
        if self._server is None or self._inputs % RENEWED == 0:
            self.close()
            self._server = Conversation(self._rng.choice(("utf-8", "utf-16", "utf-32")))
            self._server.say({"method": "textDocument/didOpen", "params": {"textDocument": _OPENED}})
        self._inputs += 1
        try:
            if self._rng.random() < 0.9:
                self._message(self._server)
            else:
                self._server.feed(self._stream())
        except LeftError:
            self.close()
            return
        assert SECRET not in self._server.log.getvalue(), "the log has the user's text"
        if self._inputs % 50 == 0:
            self._alive(self._server)

    def close(self) -> None:
        """End the server."""
        if self._server is not None:
            server, self._server = self._server, None
            server.__exit__(None, None, None)

    def _message(self, server: Conversation) -> None:
        body = self._body()
        said = server.feed(framed(body))
        answered = [one.get("id") for one in said if "method" not in one]
        expected = _expects_answer(body)
        if expected is not None:
            assert answered == expected, f"answers {answered} instead of {expected}"
        assert not any(SECRET in json.dumps(one.get("error", "")) for one in said), "an error quotes the user's text"
        self.requests += len(expected or ())

    def _body(self) -> bytes:
        method, params = self._rng.choice(TEMPLATES)
        message: Any = {"jsonrpc": "2.0", "id": self._inputs, "method": method, "params": params}
        if self._rng.random() < 0.4:
            del message["id"]
        for _ in range(self._rng.choice((0, 1, 1, 2))):
            message = changed(message, self._rng)
        if self._rng.random() < 0.03:
            message = value(self._rng)
        body = json.dumps(message).encode()
        return damaged(body, self._rng) if self._rng.random() < 0.2 else body

    def _stream(self) -> bytes:
        """Return messages whose headers lie, and bytes that are not messages."""
        parts = []
        for _ in range(self._rng.randint(1, 3)):
            body = self._body()
            name = self._rng.choice((b"Content-Length: ", b"content-length:", b"Content-Length:", b"X: "))
            length = self._rng.choice((b"%d" % len(body), self._rng.choice(LENGTHS)))
            ends = self._rng.choice((b"\r\n\r\n", b"\n\n", b"\r\nContent-Type: x\r\n\r\n"))
            parts.append(self._rng.choice((name + length + ends + body, self._rng.randbytes(20), body)))
        return b"".join(parts)

    def _alive(self, server: Conversation) -> None:
        said = server.say({"id": "alive?", "method": "infill/getStatus", "params": {}})
        assert [one["id"] for one in said if "result" in one] == ["alive?"], "the server does not answer any more"


def _expects_answer(body: bytes) -> list[Any] | None:
    """Return the id of a request, in a list, and no id for whatever else a body is; None if an answer is optional."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return []
    if not isinstance(message, dict) or "method" not in message or "id" not in message:
        return []
    name = message["id"]
    return [name] if isinstance(name, str | int) else None  # the protocol knows no other ids
