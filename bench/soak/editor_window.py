"""One window: a real server over stdio, the texts that the editor holds, and the checks of what the server answers."""

import contextlib
import os
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.replay.client import LspClient, Pending
from bench.soak.corpus import REPOSITORY, File
from bench.soak.texts import Document, Edit, between_characters, offset, position
from bench.soak.witness import TEXT, digest
from infill_engine.errors import EngineError
from lsp_server.protocol.messages import ACCEPTED, CANDIDATES, CURSOR, DID_DISMISS_NEXT_EDIT, NEXT_EDIT

INLINE = "textDocument/inlineCompletion"
WITNESS = (sys.executable, "-m", "bench.soak.witness")
AUTOMATIC, INVOKED = 2, 1
BUDGET_MS = 150.0
LOST_SECONDS = 30.0  # a request without an answer after that is lost
KINDS = {INLINE: "inline", CANDIDATES: "candidates", NEXT_EDIT: "next edit"}


@dataclass(slots=True)
class Asked:
    """A request and the text that it was about."""

    method: str
    pending: Pending
    uri: str
    text: str
    version: int
    place: dict[str, int]
    waited: bool  # the user waited for the answer, and the text did not change meanwhile
    computed: bool = False  # not all of the candidates are copies


class EditorWindow:
    """A server and its editor. `rows` are the answers, one for each request."""

    def __init__(
        self,
        number: int,
        encoding: str,
        options: dict[str, Any],
        *,
        runtime: Path,
        state: Path,
        root: Path = REPOSITORY,
        server: tuple[str, ...] = WITNESS,
    ) -> None:
        self.number, self.encoding = number, encoding
        self.documents: dict[str, Document] = {}
        self.rows: list[dict[str, Any]] = []
        self.faults: list[str] = []  # what was wrong, without text of documents
        self.keystrokes = 0
        self.log = state.with_name(f"{state.name}.log")
        with self.log.open("a") as log:
            self.client = LspClient(log, state, runtime, server)
        self._asked: list[Asked] = []
        self._opened = 0
        self._introduce(options, root)

    def open(self, file: File, newline: str) -> Document:
        """Open a file. Each time it is another document."""
        self._opened += 1
        path = file.path.with_name(f"{file.path.stem}_{self.number}_{self._opened}{file.path.suffix}")
        text = file.text.replace("\n", newline)
        document = Document(path.as_uri(), file.language, text, newline)
        item = {"uri": document.uri, "languageId": document.language, "version": 0, "text": text}
        self.client.notify("textDocument/didOpen", {"textDocument": item})
        self.documents[document.uri] = document
        return document

    def close_document(self, document: Document) -> None:
        """Close a document. Its text has to be the server's."""
        self.check_text(document)
        self.client.notify("textDocument/didClose", {"textDocument": {"uri": document.uri}})
        del self.documents[document.uri]

    def close_documents(self) -> None:
        """Close all documents."""
        for document in list(self.documents.values()):
            self.close_document(document)

    def edit(self, document: Document, *edits: Edit, remember: bool = True) -> None:
        """Apply edits one after the other and send them as one change: one keystroke."""
        changes = []
        for edit in edits:
            start = position(document.text, edit.start, self.encoding)
            end = position(document.text, edit.start + len(edit.old), self.encoding)
            changes.append({"range": {"start": start, "end": end}, "text": edit.new})
            document.apply(edit, remember=remember)
        document.version += 1
        self.keystrokes += 1
        told = {"uri": document.uri, "version": document.version}
        self.client.notify("textDocument/didChange", {"textDocument": told, "contentChanges": changes})

    def ask(self, document: Document, method: str = INLINE, *, invoked: bool = False, waits: bool = True) -> Asked:
        """Ask at the cursor. With `waits`, wait for the answer."""
        at = between_characters(document.text, document.cursor)
        place = position(document.text, at, self.encoding)
        told: dict[str, Any] = {"uri": document.uri}
        params: dict[str, Any] = {"textDocument": told, "position": place}
        if method == INLINE:
            params["context"] = {"triggerKind": INVOKED if invoked else AUTOMATIC}
        elif method == NEXT_EDIT:
            told["version"] = document.version
        pending = self.client.request(method, params)
        asked = Asked(method, pending, document.uri, document.text, document.version, place, waits)
        self._asked.append(asked)
        if waits:
            self._wait(pending)
            self.settle()
        return asked

    def cancel(self, asked: Asked) -> None:
        """Cancel a request as an editor does that has typed on."""
        self.client.cancel(asked.pending)

    def rest(self, document: Document) -> None:
        """Tell the server that the cursor rests."""
        place = position(document.text, between_characters(document.text, document.cursor), self.encoding)
        told = {"uri": document.uri, "version": document.version}
        self.client.notify(CURSOR, {"textDocument": told, "position": place})

    def dismiss(self, document: Document) -> None:
        """Dismiss all proposals of next edits."""
        self.client.notify(DID_DISMISS_NEXT_EDIT, {"textDocument": {"uri": document.uri}})

    def accepted(self, item: dict[str, Any]) -> None:
        """Report that a candidate was accepted, as editors do by the item's command."""
        command = item["command"]
        params = {"command": ACCEPTED, "arguments": command["arguments"]}
        self.client.request("workspace/executeCommand", params)

    def settle(self, *, last: bool = False) -> None:
        """Check the answers that have come. With `last`, wait for all others."""
        left = []
        for asked in self._asked:
            if last:
                self._wait(asked.pending)
            overdue = self.gone or perf_counter() - asked.pending.sent >= LOST_SECONDS
            if asked.pending.done.is_set() or last or overdue:
                self.rows.append(self._checked(asked))
            else:
                left.append(asked)
        self._asked = left

    def check_text(self, document: Document) -> None:
        """Compare the server's text with the editor's."""
        pending = self.client.request(TEXT, {"uri": document.uri})
        if not self._wait(pending):
            self.faults.append("the server did not tell its text")
        elif pending.result != {"digest": digest(document.text)}:
            self.faults.append(f"another text than the editor's: version {document.version} of {document.uri}")

    def proposal_edits(self, asked: Asked) -> list[Edit]:
        """Return the edits of the first proposal of a next edit, in the order in which to apply them."""
        proposals = (asked.pending.result or {}).get("proposals")
        return [self._edit(asked.text, one) for one in reversed(proposals[0]["edits"])] if proposals else []

    def close(self) -> None:
        """Check all texts and leave as an editor does."""
        self.settle(last=True)
        self.close_documents()
        if (status := self.client.close()) != 0:
            self.faults.append(f"the server ended with {status}")
        if (where := _first_traceback(self.log.read_text(errors="replace"))) is not None:
            self.faults.append(f"a traceback in the server's log: {where}")

    def kill(self) -> None:
        """End the server at once."""
        self.client.process.kill()
        self.client.process.wait()
        for stream in (self.client.process.stdin, self.client.process.stdout):
            with contextlib.suppress(OSError):
                assert stream is not None
                stream.close()

    def until_ready(self) -> None:
        """Wait for the model. Raises EngineError."""
        self.client.until_ready()

    @property
    def gone(self) -> bool:
        """Whether the server has ended."""
        return self.client.process.poll() is not None

    def _wait(self, pending: Pending) -> bool:
        """Wait for an answer. Return whether it came."""
        while not pending.done.wait(0.2):
            if self.gone or perf_counter() - pending.sent >= LOST_SECONDS:
                return pending.done.is_set()
        return True

    def _introduce(self, options: dict[str, Any], root: Path) -> None:
        capabilities = {"general": {"positionEncodings": [self.encoding]}, "textDocument": {"inlineCompletion": {}}}
        params = {
            "processId": os.getpid(),
            "rootUri": root.as_uri(),
            "capabilities": capabilities,
            "initializationOptions": {"budgetMs": BUDGET_MS, **options},
        }
        answered = self.client.request("initialize", params).wait()
        agreed = (answered.result or {}).get("capabilities", {}).get("positionEncoding", "utf-16")
        if agreed != self.encoding:
            raise EngineError(f"the server counts in {agreed}, not in {self.encoding} ({answered.error})")
        self.client.notify("initialized", {})

    def _checked(self, asked: Asked) -> dict[str, Any]:
        pending = asked.pending
        lost = not pending.done.is_set()
        result = None if lost else pending.result
        row: dict[str, Any] = {
            "kind": KINDS[asked.method],
            "window": self.number,
            "sent": pending.sent,
            "ms": None if lost else round(pending.elapsed_ms, 2),
            "waited": asked.waited,
            "items": None,
        }
        if lost:
            row["fault"] = "server gone" if self.gone else "lost"
        elif pending.error is not None:
            if pending.error.get("code") != REQUEST_CANCELLED:
                row["fault"] = f"error {pending.error.get('code')}"
        elif result is not None:
            row["items"], fault = self._judged(asked, result)
            row["computed"] = asked.computed
            if fault:
                row["fault"] = fault
        return row

    def _judged(self, asked: Asked, result: dict[str, Any]) -> tuple[int, str]:
        """Return how many candidates or proposals there are, and what is wrong with them."""
        here = {"start": asked.place, "end": asked.place}
        if asked.method == NEXT_EDIT:
            proposals = result["proposals"]
            if proposals and result["version"] != asked.version:
                return len(proposals), "stale"
            edits = [edit for proposal in proposals for edit in proposal["edits"]]
            wrong = any(self._edit(asked.text, edit).old != edit["oldText"] for edit in edits)
            return len(proposals), "out of place" if wrong else ""
        items = result["candidates"] if asked.method == CANDIDATES else result["items"]
        if any(item["range"] != here for item in items):
            return len(items), "out of place"
        told = [item["command"]["arguments"][0] for item in items]
        asked.computed = any(item.get("source", "model") != "retrieval" for item in items)
        stale = any((one["uri"], one["version"]) != (asked.uri, asked.version) for one in told)
        return len(items), "stale" if stale else ""

    def _edit(self, text: str, told: dict[str, Any]) -> Edit:
        start, end = (offset(text, told["range"][side], self.encoding) for side in ("start", "end"))
        return Edit(start, text[start:end], told["newText"])


REQUEST_CANCELLED = -32800


def wait_for(holds: Any, seconds: float, stop: threading.Event | None = None) -> bool:
    """Wait until something holds. Return whether it does."""
    give_up = perf_counter() + seconds
    while perf_counter() < give_up and not (stop is not None and stop.is_set()):
        if holds():
            return True
        time.sleep(0.01)
    return bool(holds())


def _first_traceback(log: str) -> str | None:
    """Return the type and the place of the first exception in a log, without its message."""
    _, traceback, rest = log.partition("Traceback")
    if not traceback:
        return None
    frames, kind = [], "unknown"
    for line in rest.splitlines()[1:]:
        if not line.startswith(" "):
            kind = line.partition(":")[0]
            break
        if line.startswith("  File"):
            frames.append(line.strip())
    return f"{kind} at {frames[-1] if frames else 'an unknown place'}"
