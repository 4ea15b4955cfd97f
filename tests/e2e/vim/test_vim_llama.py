"""ggml-org/llama.vim, unmodified, in Vim against our HTTP server.

INFILL_LLAMA_VIM names a folder that holds its code.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from http_server import serving
from vim_editor import SetupError, Vim, editor, set_up

SCRIPT = {
    "rules": [
        {"before": "x = ", "candidates": ["alpha(1)"]},
        {"before": "😀é = ", "candidates": ["'ünï'"]},
        {"before": "() {\n", "candidates": ["    one();\n    return 1;"]},
    ]
}


@pytest.fixture
def vim(tmp_path: Path) -> Iterator[Vim]:
    if not os.environ.get("INFILL_LLAMA_VIM"):
        pytest.skip("INFILL_LLAMA_VIM names no folder with ggml-org/llama.vim")
    try:
        set_up()
    except SetupError as reason:
        if os.environ.get("INFILL_E2E") == "1":
            pytest.fail(f"no Vim to test with: {reason}")
        pytest.skip(f"NO VIM, so llama.vim was not tested in it: {reason}")
    with serving(tmp_path, script=SCRIPT) as server:
        server.ready()
        settings = [f"let g:llama_config = {{'endpoint_fim': '{server.url}/infill'}}"]
        with editor(tmp_path, Path(os.environ["INFILL_LLAMA_VIM"]), settings) as started:
            yield started
            messages = started.value("execute('messages')")
            assert "failed" not in messages
            assert "Error" not in messages
        assert 'status="4' not in server.get("/metrics").body.decode()


def shown(vim: Vim) -> str:
    """The virtual text of all lines, without the figures that follow it."""
    kinds = "{'types': ['llama_hl_fim_hint']}"
    found = vim.value(f"map(prop_list(1, extend({{'end_lnum': -1}}, {kinds})), {{_, prop -> get(prop, 'text', '')}})")
    return "\n".join(found)


def test_one_line(vim: Vim) -> None:
    vim.open("x =│\ny = 2\n", "first.txt")
    vim.type(" ")
    vim.until(lambda: shown(vim) == "alpha(1)")
    vim.type("\t")
    vim.until(lambda: vim.text == "x = alpha(1)\ny = 2")


def test_characters_of_several_bytes(vim: Vim) -> None:
    vim.open("ünï 😀\n😀é =│\ny = 2\n", "unicode.txt")
    vim.type(" ")
    vim.until(lambda: shown(vim) == "'ünï'")
    vim.type("\t")
    vim.until(lambda: vim.text == "ünï 😀\n😀é = 'ünï'\ny = 2")


def test_several_lines(vim: Vim) -> None:
    vim.open("#include <a.h>\n\nint main() {│\n", "lines.txt")
    vim.type("\r")
    vim.until(lambda: shown(vim) == "    one();\n    return 1;")
    vim.type("\t")
    vim.until(lambda: vim.text == "#include <a.h>\n\nint main() {\n    one();\n    return 1;")
