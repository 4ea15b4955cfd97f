"""Where the cursor comes to rest, as the server is told."""

from collections.abc import Callable
from typing import Any

import psutil
import pytest
from nvim_editor import Editor, Start

STEPS = 20
REST_MS = 200  # of Neovim's own time, after which a cursor that does not move has been told

# Neovim says of every notification that was sent.
LISTEN = """
_G.told = {}
vim.api.nvim_create_autocmd('LspNotify', {
  group = vim.api.nvim_create_augroup('test.cursor', {}),
  callback = function(event)
    if event.data.method == 'infill/cursor' then
      table.insert(_G.told, event.data.params)
    end
  end,
})
"""

Told = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def told(nvim: Editor) -> Told:
    """What was told since this was last asked, once the cursor rests."""
    return listening(nvim)


def listening(nvim: Editor) -> Told:
    nvim.lua(LISTEN)

    def told() -> list[dict[str, Any]]:
        rest(nvim)
        return nvim.lua("local told = _G.told; _G.told = {}; return told")

    return told


def rest(nvim: Editor) -> None:
    """Wait for a timer of Neovim, which runs out after those that were started before and are shorter."""
    nvim.lua("_G.rested = false; vim.defer_fn(function() _G.rested = true end, ...)", REST_MS)
    nvim.until(lambda: nvim.lua("return _G.rested"))


def place(nvim: Editor, line: int, character: int) -> dict[str, Any]:
    uri, version = nvim.lua(
        "return { vim.uri_from_bufnr(0), vim.lsp.util.buf_versions[vim.api.nvim_get_current_buf()] }"
    )
    document, position = {"uri": uri, "version": version}, {"line": line, "character": character}
    spaces, size = nvim.lua("return { vim.bo.expandtab, vim.lsp.util.get_effective_tabstop(0) }")
    return {"textDocument": document, "position": position, "options": {"tabSize": size, "insertSpaces": spaces}}


def test_a_cursor_that_rests_before_the_server_has_started(start: Start) -> None:
    with start({}, {"rules": []}) as nvim:
        told = listening(nvim)
        nvim.command(f"edit +7 {nvim.write('x = 1' + chr(10) * 9, 'first.py')}")
        nvim.attached()
        assert told() == [place(nvim, 6, 0)]


def test_a_buffer_that_is_entered_where_the_one_before_was_left(nvim: Editor, told: Told) -> None:
    for name in ("first.py", "second.py"):
        nvim.command(f"edit {nvim.write('x = 1', name)}")
        nvim.attached()
    told()
    nvim.command("buffer first.py")
    assert told() == [place(nvim, 0, 0)]


def test_a_moving_cursor_is_told_where_it_comes_to_rest(nvim: Editor, told: Told) -> None:
    nvim.open("│" + "\n" * (STEPS + 1))
    nvim.type("<Esc>")
    told()
    for row in range(STEPS):
        nvim.type("j")
        nvim.until(lambda row=row: nvim.nvim.current.window.cursor[0] == row + 2)  # type: ignore[misc]
    *steps, last = told()
    assert len(steps) < STEPS / 2  # none but for a machine that stalls
    assert last == place(nvim, STEPS, 0)
    assert last not in steps
    assert told() == []


def test_typing_is_not_told_and_moving_between_is(nvim: Editor, told: Told) -> None:
    nvim.open("x = '😀é'; │\ny\n")
    told()
    for character in "abc":
        nvim.type(character)
        rest(nvim)
    assert told() == []
    nvim.type("<Left>")
    assert told() == [place(nvim, 0, len("x = '😀é'; ab".encode()))]
    nvim.type("<Esc>")
    told()
    nvim.type("x")  # changes the text in normal mode
    assert told() == []
    nvim.type("j")
    assert told() == [place(nvim, 1, 0)]


def test_only_where_somebody_may_begin_to_type(nvim: Editor, told: Told) -> None:
    nvim.open("│\n\n\n\n")
    nvim.type("<Esc>")
    told()
    nvim.type("vj")
    assert told() == []
    nvim.type("<Esc>")
    told()
    nvim.type("j:enew<CR>")  # leaves before it rests
    nvim.command("setlocal buftype=nofile")
    assert told() == []
    nvim.command("buffer example.py")
    assert told() == [place(nvim, 2, 0)]
    nvim.command("setlocal readonly")
    nvim.type("j")
    assert told() == []


def test_a_server_that_is_gone_is_not_missed(start: Start) -> None:
    with start({}, {"rules": []}) as nvim:
        nvim.open("│" + "\n" * 9)
        nvim.ready()
        nvim.type("<Esc>")
        told = listening(nvim)
        told()
        children = psutil.Process(nvim.lua("return vim.fn.getpid()")).children()
        (server,) = (process for process in children if "lsp_server" in process.cmdline())
        server.suspend()
        nvim.type("j")
        assert told() == [place(nvim, 1, 0)]
        nvim.type("j")
        server.kill()
        nvim.until(lambda: not nvim.lua("return #vim.lsp.get_clients({ bufnr = 0 }) > 0"))
        nvim.type("j")
        assert place(nvim, 3, 0) not in told()
