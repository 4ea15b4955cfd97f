"""What a document's language is when it is opened."""

from typing import Any, cast
from unittest.mock import Mock

import pytest
from lsprotocol import types

from lsp_server.features.text_sync import did_open
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
