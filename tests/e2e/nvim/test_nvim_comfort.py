"""What people complain of around ghost text: flicker after parts, deleted text that comes back, foreign indentation."""

import time
from typing import Any

import pytest

SCRIPT = {
    "rules": [
        {"before": "x = ", "candidates": ["alpha(1) + beta(2)", "gamma"]},
        {"before": "if w:\n", "candidates": ["\tif a:\n\t\tone()"]},
    ]
}
WATCH = """
_G.drawn = {}
vim.api.nvim_set_decoration_provider(vim.api.nvim_create_namespace('watch'), {
  on_win = function(_, _, bufnr)
    local shown = require('infill.ghost').shown(bufnr) or ''
    table.insert(_G.drawn, { vim.api.nvim_buf_get_lines(bufnr, 0, 1, false)[1], shown })
  end,
})
"""


def test_nothing_flickers_while_words_are_accepted(start: Any) -> None:
    with start({"settings": {"budgetMs": 5000}}, SCRIPT) as nvim:
        nvim.nvim.ui_attach(80, 24, rgb=True)
        nvim.open("x = │")
        nvim.ready()
        nvim.until_ghost("alpha(1) + beta(2)")
        nvim.lua(WATCH)
        for _ in range(3):
            nvim.lua("require('infill').accept_word()")
            time.sleep(0.3)  # longer than the editor waits before it asks again
        drawn = [tuple(pair) for pair in nvim.lua("return _G.drawn")]
        wrong = [(line, ghost) for line, ghost in drawn if line + ghost != "x = alpha(1) + beta(2)"]
        assert not wrong, drawn
        assert len(set(drawn)) >= 3, drawn


def test_an_accepted_text_that_is_undone_or_erased_stays_away(start: Any) -> None:
    with start({"settings": {"budgetMs": 5000}}, SCRIPT) as nvim:
        nvim.open("x = │\ny = 2\n")
        nvim.ready()
        nvim.until_ghost("alpha(1) + beta(2)")
        nvim.lua("require('infill').accept()")
        nvim.until_marked("x = alpha(1) + beta(2)│\ny = 2")
        nvim.type("<C-w>" * 20)
        nvim.until(lambda: nvim.nvim.current.line == "")
        nvim.type("x = ")
        nvim.until(lambda: nvim.status().startswith("infill silent"))
        time.sleep(0.5)
        assert nvim.ghost() is None


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("expandtab shiftwidth=3", "   if a:\n      one()"),
        ("noexpandtab shiftwidth=8 tabstop=8", "\tif a:\n\t\tone()"),
        ("expandtab shiftwidth=4", "    if a:\n        one()"),
    ],
)
def test_the_first_indentation_is_the_buffers(start: Any, options: str, expected: str) -> None:
    with start({"settings": {"budgetMs": 5000}}, SCRIPT) as nvim:
        nvim.command(f"autocmd FileType python setlocal {options}")
        nvim.open("if w:│\n")
        nvim.ready()
        time.sleep(0.5)
        nvim.command("setlocal indentexpr= noautoindent nosmartindent")
        nvim.type("<CR>")
        nvim.until_ghost(expected)
