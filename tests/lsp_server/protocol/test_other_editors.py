"""Clients that do not run here: LSP4IJ d21cff9 (JetBrains' IDEs), Helix 079a789 and Zed 0067496.

The messages are those that their sources build, cut to the capabilities that concern this server.
"""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from raw_client import WAIT, Wire

URI = "file:///project/first.py"
ASKED_AGAIN_SECONDS = 0.1
SCRIPT = {
    "rules": [
        {"before": "😀 = ", "candidates": ["alpha(1)", "beta(2)"]},
        {"before": "😀 = a", "candidates": ["lpha(1)"]},
    ]
}

# LSP4J numbers its requests with strings, and gson leaves out what is null.
LSP4IJ = """{"workspace":{"applyEdit":true,"workspaceEdit":{"documentChanges":true,"resourceOperations":["create",\
"delete","rename"]},"didChangeConfiguration":{"dynamicRegistration":true},"didChangeWatchedFiles":\
{"dynamicRegistration":true},"symbol":{},"executeCommand":{"dynamicRegistration":true},"workspaceFolders":true,\
"configuration":true},"textDocument":{"synchronization":{"willSave":true,"willSaveWaitUntil":true,"didSave":true},\
"completion":{"completionItem":{"snippetSupport":true,"documentationFormat":["markdown","plaintext"],\
"deprecatedSupport":true,"resolveSupport":{"properties":["documentation","detail","additionalTextEdits"]},\
"insertTextModeSupport":{"valueSet":[1,2]},"labelDetailsSupport":true},"completionList":{"itemDefaults":["editRange"]},\
"dynamicRegistration":true},"inlineCompletion":{"dynamicRegistration":true}},"window":{"workDoneProgress":true,\
"showMessage":{"messageActionItem":{"additionalPropertiesSupport":false}},"showDocument":{"support":true}},"general":\
{"staleRequestSupport":{"cancel":true,"retryOnContentModified":[]},"positionEncodings":["utf-16"]}}"""
HELIX = """{"general":{"positionEncodings":["utf-8","utf-32","utf-16"]},"textDocument":{"completion":{"completionItem":\
{"deprecatedSupport":true,"insertReplaceSupport":true,"resolveSupport":{"properties":["documentation","detail",\
"additionalTextEdits"]},"snippetSupport":true,"tagSupport":{"valueSet":[1]}},"completionItemKind":{}}},"window":\
{"showDocument":{"support":true},"showMessage":{"messageActionItem":{"additionalPropertiesSupport":true}},\
"workDoneProgress":true},"workspace":{"applyEdit":true,"configuration":true,"didChangeConfiguration":\
{"dynamicRegistration":false},"didChangeWatchedFiles":{"dynamicRegistration":true,"relativePatternSupport":true},\
"executeCommand":{"dynamicRegistration":false},"workspaceFolders":true}}"""

ZED = """{"workspace":{"applyEdit":true,"didChangeConfiguration":{"dynamicRegistration":true},"didChangeWatchedFiles":\
{"dynamicRegistration":true,"relativePatternSupport":true},"workspaceFolders":true,"configuration":true},\
"textDocument":{"synchronization":{"didSave":true},"completion":{"completionItem":{"snippetSupport":true,\
"insertReplaceSupport":true,"resolveSupport":{"properties":["additionalTextEdits","command","documentation"]},\
"labelDetailsSupport":true},"contextSupport":true,"completionList":{"itemDefaults":["commitCharacters","editRange",\
"insertTextMode","insertTextFormat","data"]}}},"window":{"workDoneProgress":true,"showMessage":{}},"general":\
{"positionEncodings":["utf-16"]},"experimental":{"localDocs":true,"serverStatusNotification":true}}"""


@pytest.fixture
def options(tmp_path: Path) -> str:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(SCRIPT))
    return json.dumps({"model": f"scripted:{script}", "budgetMs": 5000, "showThreshold": 0}, separators=(",", ":"))


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Wire]:
    started = Wire(tmp_path / "log", None, greets=False, introduces=False)
    patience = threading.Timer(4 * WAIT, started.process.kill)
    patience.start()
    yield started
    patience.cancel()
    started.send("end", "shutdown")
    started.answer("end")
    started.tell("exit")
    assert started.process.wait(WAIT) == 0


def until_offered(wire: Wire, request: str, first: int, quoted: str = "") -> Any:
    """What is offered. Nobody tells when the engine is ready, so ask again until there are items."""
    for number in range(first, first + 1000):
        ident = f"{quoted}{number}{quoted}"
        wire.write(request.replace("ID", ident).encode())
        result = wire.answer(json.loads(ident))["result"]
        if result and result["items"]:
            return result["items"]
        time.sleep(ASKED_AGAIN_SECONDS)
    raise AssertionError("nothing was offered")


def opened(text: str, language: str) -> str:
    item = {"uri": URI, "languageId": language, "version": 0, "text": text}
    return json.dumps(item, ensure_ascii=False, separators=(",", ":"))


def test_lsp4ij(wire: Wire, options: str) -> None:
    wire.write(
        f'{{"jsonrpc":"2.0","id":"1","method":"initialize","params":{{"processId":{wire.process.pid},"rootPath":'
        f'"/project","rootUri":"file:///project","initializationOptions":{options},"capabilities":{LSP4IJ},"clientInfo":'
        '{"name":"PyCharm","version":"2026.1"},"trace":"off","workspaceFolders":[{"uri":"file:///project","name":'
        '"project"}]}}'.encode()
    )
    assert wire.answer("1")["result"]["capabilities"]["inlineCompletionProvider"] is not None
    wire.write(b'{"jsonrpc":"2.0","method":"initialized","params":{}}')
    item = opened("😀 =\ny = 2\n", "python")
    wire.write(f'{{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{{"textDocument":{item}}}}}'.encode())
    wire.write(
        f'{{"jsonrpc":"2.0","method":"textDocument/didChange","params":{{"textDocument":{{"version":1,"uri":"{URI}"}},'
        '"contentChanges":[{"range":{"start":{"line":0,"character":4},"end":{"line":0,"character":4}},"rangeLength":0,'
        '"text":" "}]}}'.encode()
    )
    request = (
        '{"jsonrpc":"2.0","id":ID,"method":"textDocument/inlineCompletion","params":{"context":{"triggerKind":2},'
        f'"textDocument":{{"uri":"{URI}"}},"position":{{"line":0,"character":5}}}}}}'
    )
    items = until_offered(wire, request, 2, '"')
    assert [item["insertText"] for item in items] == ["alpha(1)", "beta(2)"]
    # It grays the text out at the cursor and skips what the range covers after it.
    place = {"line": 0, "character": 5}
    assert [item["range"] for item in items] == [{"start": place, "end": place}] * 2


def test_helix(wire: Wire, options: str) -> None:
    wire.write(
        f'{{"jsonrpc":"2.0","method":"initialize","params":{{"capabilities":{HELIX},"clientInfo":{{"name":"helix",'
        f'"version":"25.07.1 (079a789e)"}},"initializationOptions":{options},"processId":{wire.process.pid},"rootPath":'
        '"/project","rootUri":"file:///project","workspaceFolders":[{"name":"project","uri":"file:///project"}]},"id":0}'
        "".encode()
    )
    capabilities = wire.answer(0)["result"]["capabilities"]
    assert capabilities["positionEncoding"] == "utf-8"
    assert capabilities["completionProvider"]
    wire.write(b'{"jsonrpc":"2.0","method":"initialized","params":{}}')
    item = opened("😀 = \ny = 2\n", "python")
    wire.write(f'{{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{{"textDocument":{item}}}}}'.encode())
    wire.write(
        b'{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"contentChanges":[{"range":{"end":{"character":7,'
        b'"line":0},"start":{"character":7,"line":0}},"text":"a"}],"textDocument":{"uri":"file:///project/first.py",'
        b'"version":1}}}'
    )
    request = (
        '{"jsonrpc":"2.0","method":"textDocument/completion","params":{"context":{"triggerKind":1},"position":'
        f'{{"character":8,"line":0}},"textDocument":{{"uri":"{URI}"}}}},"id":ID}}'
    )
    (item,) = until_offered(wire, request, 1)
    assert item["textEdit"]["newText"] == "alpha(1)"
    assert item["textEdit"]["range"] == {
        "start": {"line": 0, "character": 7},
        "end": {"line": 0, "character": 8},
    }


def test_zed(wire: Wire, options: str) -> None:
    wire.write(
        f'{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"processId":null,"rootUri":"file:///project",'
        f'"initializationOptions":{options},"capabilities":{ZED},"workspaceFolders":[{{"uri":"file:///project","name":'
        '""}],"clientInfo":{"name":"Zed","version":"0.166.0"}}}'.encode()
    )
    assert wire.answer(0)["result"]["capabilities"]["completionProvider"]
    wire.write(b'{"jsonrpc":"2.0","method":"initialized","params":{}}')
    wire.write(b'{"jsonrpc":"2.0","method":"workspace/didChangeConfiguration","params":{"settings":{}}}')
    item = opened("😀 = \ny = 2\n", "python")
    wire.write(f'{{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{{"textDocument":{item}}}}}'.encode())
    wire.write(
        f'{{"jsonrpc":"2.0","method":"textDocument/didChange","params":{{"textDocument":{{"uri":"{URI}","version":1}},'
        '"contentChanges":[{"range":{"start":{"line":0,"character":5},"end":{"line":0,"character":5}},"text":"a"}]}}'
        "".encode()
    )
    request = (
        f'{{"jsonrpc":"2.0","id":ID,"method":"textDocument/completion","params":{{"textDocument":{{"uri":"{URI}"}},'
        '"position":{"line":0,"character":6},"context":{"triggerKind":1}}}'
    )
    (item,) = until_offered(wire, request, 1)
    assert item["textEdit"]["newText"] == "alpha(1)"
    place = {"start": {"line": 0, "character": 5}, "end": {"line": 0, "character": 6}}
    assert item["textEdit"]["range"] == place
