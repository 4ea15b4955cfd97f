"""What the server relies on below the public interfaces of pygls and lsprotocol."""

import json
import subprocess
import sys
from importlib.metadata import version
from types import SimpleNamespace

import attrs
import pytest
from lsprotocol import types
from pygls.lsp.server import LanguageServer

from lsp_server.protocol import pygls_internals

CHECK = """
from lsp_server.protocol.pygls_internals import import_protocol_types
import sys
assert not {"lsprotocol", "pygls"} & set(sys.modules)
import_protocol_types()
from lsprotocol.types import CompletionItem
assert CompletionItem("text") != CompletionItem("text")
assert "text" not in repr(CompletionItem("text"))
"""


@pytest.mark.parametrize(("package", "written_for"), [("pygls", "2.1."), ("lsprotocol", "2025.")])
def test_the_installed_version_is_the_one_it_was_written_for(package: str, written_for: str) -> None:
    assert version(package).startswith(written_for), f"read {pygls_internals.__name__} again and correct its version"
    assert written_for.rstrip(".") in str(pygls_internals.__doc__)


def test_the_types_are_imported_without_comparisons_and_reprs() -> None:
    subprocess.run([sys.executable, "-c", CHECK], check=True)
    assert attrs.define.__module__ == "attr._next_gen"  # what was replaced is back


def test_a_request_is_refused_with_one_response() -> None:
    sent: list[bytes] = []
    protocol = LanguageServer("test", "1").protocol
    protocol.set_writer(SimpleNamespace(write=sent.append, close=lambda: None), include_headers=False)
    pygls_internals.refuse(protocol, "a", types.ResponseError(-32600, "no"))
    assert [json.loads(each) for each in sent] == [
        {"id": "a", "jsonrpc": "2.0", "error": {"code": -32600, "message": "no"}}
    ]
