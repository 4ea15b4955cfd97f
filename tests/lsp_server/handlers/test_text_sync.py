"""What a document's language is when it is opened, and who is told of an edit."""

from typing import Any, cast
from unittest.mock import Mock, call

import pytest
from lsprotocol import types

from lsp_server.handlers.text_sync import did_change, did_open
from lsp_server.session import Session
from lsp_server.suggestions.workspace import Workspace


@pytest.mark.parametrize(
    ("name", "sent", "text", "expected"),
    [
        ("cart.h", "c", "class Cart {\n public:\n};\n", "cpp"),
        ("cart.h", "c", "struct cart { int total; };\n", "c"),
        ("run", "plaintext", "#!/bin/sh\n", "shellscript"),
    ],
)
def test_the_content_decides_where_the_name_may_be_wrong(name: str, sent: str, text: str, expected: str) -> None:
    session: Any = Mock(workspace=Workspace())
    uri = f"file:///project/{name}"
    did_open(cast(Session, session), types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, sent, 1, text)))
    [opened] = session.prefetch.opened.call_args.args
    assert (opened.language, session.workspace.documents.get(uri).language) == (expected, expected)


def test_everyone_is_told_once_of_all_changes_of_a_notification() -> None:
    session: Any = Mock(workspace=Workspace())
    session.client.can.encoding = "utf-16"
    session.protocol.arrival.return_value = 5.0
    opened = session.workspace.documents.open("file:///a.py", "python", "ab\n")
    events: list[types.TextDocumentContentChangeEvent] = [
        types.TextDocumentContentChangePartial(types.Range(types.Position(0, at), types.Position(0, at + 1)), new)
        for at, new in ((0, "xyz"), (3, ""))
    ]
    document = types.VersionedTextDocumentIdentifier(7, opened.uri)
    did_change(cast(Session, session), types.DidChangeTextDocumentParams(document, events))
    change = session.prefetch.changed.call_args.args[0]
    told = [call.protocol.arrival(), call.engine.withdraw(opened.uri)]
    told += [getattr(call, name).changed(change) for name in ("suggestions", "edit_log", "prefetch")]
    assert session.mock_calls == told
    assert [step.before.lines[0] for step in change.steps] == ["ab\n", "xyzb\n"]
    assert (change.after.lines, change.after.client_version, change.arrived) == (("xyz\n", ""), 7, 5.0)
