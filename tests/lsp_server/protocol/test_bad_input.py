"""Whatever arrives on stdin, the server lives on, answers every request, and keeps the user's text out of its log."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from raw_client import SECRET, URI, Wire, inline

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    made = Wire(tmp_path_factory.mktemp("log") / "stderr", {"model": "scripted", "budgetMs": 5000})
    text = f"# {SECRET} 😀\nx = 1\n"
    opened = {"uri": URI, "languageId": "python", "version": 0, "text": text}
    made.tell("textDocument/didOpen", {"textDocument": opened})
    yield made
    assert made.leave() == 1  # it left without a shutdown
    assert SECRET not in made.log.read_text()


def cursor(uri: str = URI, position: object = None, **document: Any) -> dict[str, Any]:
    return {"textDocument": {"uri": uri, **document}, "position": position}


ANSWERED = {
    "trigger kind 0": inline(kind=0),
    "trigger kind of words": inline(kind="Automatic"),
    "no trigger kind": inline(context={}),
    "no context": inline(context=None),
    "line past the end": inline(line=10_000),
    "character past the end": inline(character=10_000),
    "negative": inline(line=-3, character=-1),
    "beyond the protocol's integers": inline(line=2**40, character=2**70),
    "fractions": inline(line=1.5, character=float(2)),
    "half of a surrogate pair": inline(line=0, character=len(SECRET) + 4),
    "never opened": inline(uri="file:///project/unheard_of.py"),
    "another scheme": inline(uri="output:extension-output"),
    "empty uri": inline(uri=""),
    "uri of numbers": inline(uri=5),
    "selected completion elsewhere": inline(
        context={
            "triggerKind": 1,
            "selectedCompletionInfo": {
                "text": "print",
                "range": {"start": {"line": 7, "character": 0}, "end": {"line": 9, "character": 1}},
            },
        }
    ),
    "selected completion, negative": inline(
        context={
            "triggerKind": 2,
            "selectedCompletionInfo": {
                "text": "a\nb",
                "range": {"start": {"line": 1, "character": -1}, "end": {"line": 1, "character": 4}},
            },
        }
    ),
    "fields nobody knows": inline(later="version"),
}


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"method": "initialized"}, -32600),
        ({"method": "textDocument/didOpen", "params": {}}, -32602),
        ({"method": "$/cancelRequest", "params": {"id": 1}}, -32600),
        ({"method": "infill/cursor", "params": cursor(position={"line": 0, "character": 0})}, -32600),
        ({"method": "infill/getStatus", "jsonrpc": "1.0"}, None),
        ({"method": "infill/getStatus", "jsonrpc": 2}, None),
    ],
)
def test_odd_messages_with_an_id_are_answered(wire: Wire, more: dict[str, Any], error: int | None) -> None:
    wire.write(json.dumps({"jsonrpc": "2.0", "id": "odd", "params": {}, **more}).encode())
    assert wire.answer("odd").get("error", {}).get("code") == error


@pytest.mark.parametrize("params", ANSWERED.values(), ids=ANSWERED)
def test_odd_requests_are_answered(wire: Wire, params: dict[str, Any]) -> None:
    wire.send("odd", "textDocument/inlineCompletion", params)
    answer = wire.answer("odd")
    assert "error" not in answer
    assert answer["result"] is None or isinstance(answer["result"]["items"], list)


REFUSED = {
    "no position": ("textDocument/inlineCompletion", {"textDocument": {"uri": URI}, "context": {"triggerKind": 1}}),
    "position of text": ("textDocument/inlineCompletion", inline(position="here")),
    "uri of lists": ("textDocument/inlineCompletion", inline(textDocument=[URI])),
    "no parameters": ("textDocument/inlineCompletion", None),
    "a list": ("textDocument/inlineCompletion", [1, 2]),
    "method of nobody": ("textDocument/unheardOf", {"text": SECRET}),
    "a command of nobody": ("workspace/executeCommand", {"command": "infill.unheardOf"}),
}


@pytest.mark.parametrize(("method", "params"), REFUSED.values(), ids=REFUSED)
def test_requests_that_mean_nothing_are_refused(wire: Wire, method: str, params: Any) -> None:
    wire.send("refused", method, params)
    assert wire.answer("refused")["error"]["code"] in (-32601, -32602)
    wire.alive()


def change(uri: str = URI, **event: Any) -> dict[str, Any]:
    return {"textDocument": {"uri": uri, "version": 1}, "contentChanges": [event]}


def span(start: tuple[int, int], end: tuple[int, int]) -> dict[str, Any]:
    return {
        "start": {"line": start[0], "character": start[1]},
        "end": {"line": end[0], "character": end[1]},
    }


NOTIFIED = {
    "change of an unopened document": ("textDocument/didChange", change("file:///never.py", text=SECRET)),
    "change past the end": ("textDocument/didChange", change(range=span((99, 0), (99, 5)), text="\n")),
    "negative change": ("textDocument/didChange", change(range=span((-1, -1), (0, -5)), text="")),
    "change turned round": ("textDocument/didChange", change(range=span((1, 4), (1, 0)), text="y = ")),
    "change without text": ("textDocument/didChange", change(range=span((0, 0), (0, 0)))),
    "no version": ("textDocument/didChange", {"textDocument": {"uri": URI}, "contentChanges": []}),
    "half an emoji": ("textDocument/didChange", change(range=span((0, 0), (0, 0)), text="\ud83d")),
    "close of an unopened document": ("textDocument/didClose", {"textDocument": {"uri": "file:///never.py"}}),
    "notebook": ("notebookDocument/didOpen", {"notebookDocument": {}, "cellTextDocuments": []}),
    "cursor of an unopened document": ("infill/cursor", cursor("file:///never.py")),
    "cursor past the end": ("infill/cursor", cursor(position={"line": 10_000, "character": 2**70})),
    "negative cursor": ("infill/cursor", cursor(position={"line": -1, "character": -1.5})),
    "cursor in the middle of an emoji": ("infill/cursor", cursor(position={"line": 0, "character": len(SECRET) + 4})),
    "cursor without a position": ("infill/cursor", cursor(position=None)),
    "cursor of text": ("infill/cursor", cursor(position=SECRET)),
    "cursor in a list": ("infill/cursor", [SECRET]),
    "cursor in nothing": ("infill/cursor", {"textDocument": None, "position": None}),
    "cursor in text": ("infill/cursor", {"textDocument": SECRET, "position": {"line": 0, "character": 0}}),
    "cursor with a version of text": ("infill/cursor", cursor(position={"line": 0, "character": 0}, version=SECRET)),
    "cancel of nothing": ("$/cancelRequest", {"id": 123456}),
    "cancel without an id": ("$/cancelRequest", {}),
    "progress of nobody": ("$/progress", {"token": "x", "value": {"kind": "begin"}}),
    "optional notification": ("$/unheardOf", {"text": SECRET}),
    "notification of nobody": ("unheardOf", {"text": SECRET}),
    "settings of text": ("workspace/didChangeConfiguration", {"settings": SECRET}),
    "settings of everything": ("workspace/didChangeConfiguration", {"settings": {"python": {"a": 1}}}),
}


@pytest.mark.parametrize(("method", "params"), NOTIFIED.values(), ids=NOTIFIED)
def test_odd_notifications_are_survived(wire: Wire, method: str, params: Any) -> None:
    wire.tell(method, params)
    wire.alive()


CHANGES = {
    "no version": ({"uri": URI}, {}),
    "version null": ({"uri": URI, "version": None}, {}),
    "version of text": ({"uri": URI, "version": "2"}, {}),
    "range null": ({"uri": URI, "version": 2}, {"range": None, "rangeLength": None}),
}


@pytest.fixture(scope="module")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """A server that offers "right" after "new = "."""
    folder = tmp_path_factory.mktemp("scripted")
    script = folder / "script.json"
    script.write_text(json.dumps({"rules": [{"before": "new = ", "candidates": ["right"]}]}))
    made = Wire(folder / "stderr", {"model": f"scripted:{script}", "budgetMs": 5000, "showThreshold": 0})
    made.until("ready")
    yield made
    assert made.leave() == 1


@pytest.mark.parametrize(("document", "event"), CHANGES.values(), ids=CHANGES)
def test_changes_as_older_clients_write_them(scripted: Wire, document: dict[str, Any], event: dict[str, Any]) -> None:
    opened = {"uri": URI, "languageId": "python", "version": 0, "text": "old\n"}
    changed = {"textDocument": document, "contentChanges": [{"text": "new = \n", **event}]}
    scripted.tell("textDocument/didOpen", {"textDocument": opened})
    scripted.tell("textDocument/didChange", changed)
    scripted.send(5, "textDocument/inlineCompletion", inline(line=0, character=6))
    assert [item["insertText"] for item in scripted.answer(5)["result"]["items"]] == ["right"]
    scripted.tell("textDocument/didClose", {"textDocument": {"uri": URI}})


BODIES = [
    b"{",
    b"[]",
    b"null",
    b"5",
    b"\xff\xfe",
    b'{"jsonrpc": "2.0"}',
    b'{"jsonrpc": "1.0", "id": 5, "method": "x"}',
    b'{"method": "textDocument/didOpen", "params": {"jsonrpc": "2.0"}}',
    b'{"jsonrpc": "2.0", "id": null, "method": "textDocument/inlineCompletion"}',
    b'{"jsonrpc": "2.0", "id": "nobody asked", "result": 5}',
    b'{"jsonrpc": "2.0", "id": "nobody asked", "error": {"code": 1, "message": "no"}}',
    b"[" * 100_000,
]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body[:40].decode(errors="replace"))
def test_bodies_that_are_no_messages(wire: Wire, body: bytes) -> None:
    wire.write(body)
    wire.alive()
