"""ggml-org/llama.vim, unmodified, in Vim against our HTTP server.

INFILL_LLAMA_VIM names a folder that holds its code.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from editor_setup import set_up_or_skip
from http_server import serving
from vim_editor import Vim, editor

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
    set_up_or_skip(Path(__file__).parent, "Vim", "llama.vim was not tested in it")
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


TAKEN = {
    "one line": ("first.txt", "x =│\ny = 2\n", " ", "alpha(1)", "x = alpha(1)\ny = 2"),
    "characters of several bytes": (
        "unicode.txt",
        "ünï 😀\n😀é =│\ny = 2\n",
        " ",
        "'ünï'",
        "ünï 😀\n😀é = 'ünï'\ny = 2",
    ),
    "several lines": (
        "lines.txt",
        "#include <a.h>\n\nint main() {│\n",
        "\r",
        "    one();\n    return 1;",
        "#include <a.h>\n\nint main() {\n    one();\n    return 1;",
    ),
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_shown_is_taken(vim: Vim, name: str) -> None:
    file, marked, typed, ghost, expected = TAKEN[name]
    vim.open(marked, file)
    vim.type(typed)
    vim.until(lambda: shown(vim) == ghost)
    vim.type("\t")
    vim.until(lambda: vim.text == expected)
