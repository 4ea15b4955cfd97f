"""Neovim as the README sets it up, without our plugin."""

import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from nvim_editor import POLL, REPOSITORY, SCRIPT, Editor, editor

ROUND = 4  # seconds; asking again cancels what was asked for before, which a busy machine may still be at
CONFIGURED = """
vim.env.PATH = {path} .. ':' .. vim.env.PATH
vim.lsp.config('infill_ls', {{ init_options = {{ model = {model}, showThreshold = 0, budgetMs = 5000 }} }})
vim.cmd('filetype on')
{readme}
"""


@pytest.fixture
def plain(neovim: str, tmp_path: Path) -> Iterator[Editor]:
    script, init = tmp_path / "script", tmp_path / "plain.lua"
    script.write_text(json.dumps(SCRIPT))
    readme = re.search(r"```lua\n(.*?)```", (REPOSITORY / "README.md").read_text(), re.DOTALL)
    assert readme
    path, model = json.dumps(str(Path(sys.executable).parent)), json.dumps(f"scripted:{script}")
    init.write_text(CONFIGURED.format(path=path, model=model, readme=readme[1]))
    with editor(tmp_path, None, init=init) as started:
        yield started


def until_ghost(nvim: Editor, expected: str) -> None:
    """Nobody tells when the engine is ready, so the line is left and entered until it is."""

    def asked_again() -> bool:
        nvim.type("<Esc>A")
        end = time.monotonic() + ROUND
        while nvim.ghost() != expected and time.monotonic() < end:
            time.sleep(POLL)
        return nvim.ghost() == expected

    nvim.until(asked_again)


def test_tab_takes_what_is_shown_and_else_indents(plain: Editor) -> None:
    plain.open("│\n")
    plain.type("<Tab>x = ")
    plain.until(lambda: plain.text.endswith("x = "))
    until_ghost(plain, "alpha(1)")
    plain.type("<Tab>")
    plain.until(lambda: plain.text.strip() == "x = alpha(1)" and plain.text[0].isspace())


def test_carriage_returns_stay_at_the_line_ends(plain: Editor) -> None:
    plain.open("def f():\n    │\n\n\nprint(1)\n", newline="\r\n")
    until_ghost(plain, "one = 1\n    return one")
    plain.type("<Tab>")
    plain.until_marked("def f():\n    one = 1\n    return one│\n\n\nprint(1)")
    plain.command("write")
    written = (plain.folder / "example.py").read_bytes()
    assert written == b"def f():\r\n    one = 1\r\n    return one\r\n\r\n\r\nprint(1)\r\n"
