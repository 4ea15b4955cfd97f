"""What people complain of around ghost text: flicker, deleted text that comes back, foreign indentation."""

import time
from collections.abc import Iterator

import pytest
from nvim_editor import Editor, shared

SCRIPT = {
    "rules": [
        {"before": "x = ", "candidates": ["alpha(1) + beta(2)", "gamma"]},
        {"before": "if w:\n", "candidates": ["\tif a:\n\t\tone()"]},
    ]
}
WHOLE = "x = alpha(1) + beta(2)"
ASKED_AGAIN = 0.3  # seconds: longer than the editor waits before it asks again
# Notes the first line and the ghost text at every redraw.
WATCH = """
_G.drawn = {}
vim.api.nvim_set_decoration_provider(vim.api.nvim_create_namespace('watch'), {
  on_win = function(_, _, bufnr)
    local shown = require('infill.ghost').shown(bufnr) or ''
    table.insert(_G.drawn, { vim.api.nvim_buf_get_lines(bufnr, 0, 1, false)[1], shown })
  end,
})
"""
running = shared({"settings": {"budgetMs": 5000}}, SCRIPT)


@pytest.fixture
def watched(nvim: Editor) -> Iterator[Editor]:
    """An editor that draws, with ghost text in it."""
    nvim.nvim.ui_attach(80, 24, rgb=True)
    nvim.offered("x = │", "alpha(1) + beta(2)")
    nvim.lua(WATCH)
    yield nvim
    nvim.nvim.ui_detach()


def check_drawn(nvim: Editor, least: int) -> None:
    """Whenever something was drawn, the line and the ghost text were the whole."""
    drawn = [tuple(pair) for pair in nvim.lua("return _G.drawn")]
    assert [pair for pair in drawn if "".join(pair) != WHOLE] == [], drawn
    assert len(set(drawn)) >= least, drawn


def test_nothing_flickers_while_words_are_accepted(watched: Editor) -> None:
    for _ in range(3):
        watched.lua("require('infill').accept_word()")
        time.sleep(ASKED_AGAIN)
    check_drawn(watched, 3)


def test_nothing_flickers_while_typing_along(watched: Editor) -> None:
    for key in "alpha(":
        watched.type(key)
        time.sleep(0.07)  # nothing is asked of Neovim meanwhile: it would redraw early
    watched.lua("vim.wait(...)", int(2000 * ASKED_AGAIN))
    watched.type("1")
    watched.until_ghost(") + beta(2)")
    check_drawn(watched, 7)


def test_an_accepted_text_that_is_undone_or_erased_stays_away(nvim: Editor) -> None:
    nvim.offered("x = │\ny = 2\n", "alpha(1) + beta(2)")
    nvim.lua("require('infill').accept()")
    nvim.until_marked(f"{WHOLE}│\ny = 2")
    nvim.type("<C-w>" * 20)
    nvim.until(lambda: nvim.nvim.current.line == "")
    nvim.type("x = ")
    nvim.until(lambda: nvim.status().startswith("infill silent"))
    time.sleep(ASKED_AGAIN)
    assert nvim.ghost() is None


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("expandtab shiftwidth=3", "   if a:\n      one()"),
        ("noexpandtab shiftwidth=8 tabstop=8", "\tif a:\n\t\tone()"),
        ("expandtab shiftwidth=4", "    if a:\n        one()"),
    ],
)
def test_the_first_indentation_is_the_buffers(nvim: Editor, options: str, expected: str) -> None:
    nvim.command(f"autocmd FileType python setlocal {options}")
    nvim.open("if w:│\n")
    time.sleep(0.5)  # in which the cursor's place is told, and how the buffer is indented
    nvim.command("setlocal indentexpr= noautoindent nosmartindent")
    nvim.type("<CR>")
    nvim.until_ghost(expected)
