"""yegappan/lsp and vim-lsp, unmodified, configured as editors/others.md says.

INFILL_VIM9_LSP and INFILL_VIM_LSP name folders that hold the code of yegappan/lsp and of prabirshrestha/vim-lsp.
"""

import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from editor_setup import set_up_or_skip
from other_editors import REPOSITORY, documented, write_settings
from vim_editor import POLL, Vim, editor

SCRIPT = {
    "rules": [
        {"before": "x = ", "candidates": ["alpha(1)", "beta(2)"]},
        {"before": "x = b", "candidates": ["eta(2)"]},
        {"before": "😀 = ü", "candidates": ["nï()"]},
        {"before": "é = ü", "candidates": ["nï()"]},
    ]
}
PLUGINS = {
    "INFILL_VIM9_LSP": ("yegappan/lsp", "Vim 9, yegappan/lsp", "\x7f{}"),  # asks after a character
    "INFILL_VIM_LSP": ("prabirshrestha/vim-lsp", "Vim, vim-lsp", "\x18\x0f"),  # asks when it is told to
}
ROUND = 8  # seconds, in which an answer comes on a busy machine, too


@pytest.fixture(params=PLUGINS)
def vim(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Vim]:
    repository, title, _ = PLUGINS[request.param]
    if not os.environ.get(request.param):
        pytest.skip(f"{request.param} names no folder with {repository}")
    set_up_or_skip(Path(__file__).parent, "Vim", f"{repository} was not tested in it")
    write_settings(tmp_path, SCRIPT)
    monkeypatch.setenv("INFILL_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    lines = ["filetype on", "set completeopt=menuone,noselect,noinsert", *documented(title).splitlines()]
    with editor(tmp_path, Path(os.environ[request.param]), lines) as started:
        started.asks = PLUGINS[request.param][2]
        yield started
        assert not re.search(r"E\d+:", started.value("execute('messages')"))


def until_offered(vim: Vim, last: str, expected: str) -> None:
    """Nobody tells when the engine is ready, so ask again until an entry is offered. `last` was typed last."""

    if "{}" not in vim.asks:
        vim.until(lambda: vim.value("&omnifunc") == "lsp#complete")  # the server has started

    def offered() -> bool:
        entries = vim.value("complete_info(['items']).items")
        return any(entry["word"] == expected for entry in entries)

    def asked_again() -> bool:
        vim.type(vim.asks.format(last))
        end = time.monotonic() + ROUND
        while not offered() and time.monotonic() < end:
            time.sleep(POLL)
        return offered()

    vim.until(asked_again)


def test_what_is_offered_is_taken(vim: Vim) -> None:
    vim.open("x = b│\ny = 2\n", "first.py")
    until_offered(vim, "b", "beta(2)")
    vim.type("\x0e\x19")  # next entry; take it
    vim.until(lambda: vim.text == "x = beta(2)\ny = 2")


def test_characters_of_several_units(vim: Vim) -> None:
    name = "é" if "{}" not in vim.asks else "😀"  # vim-lsp counts code points, of which the protocol knows nothing
    vim.open(f"# ünï 😀\n{name} = ü│\ny = 2\n", "unicode.py")
    until_offered(vim, "ü", "ünï()")
    vim.type("\x0e\x19")
    vim.until(lambda: vim.text == f"# ünï 😀\n{name} = ünï()\ny = 2")
