"""Alternatives to code in a real Neovim, through its own code action menu."""

from nvim_editor import Editor, shared

SCRIPT = {
    "rules": [
        {"before": "if ", "candidates": ["size > limit", "size == limit", "limit <= size"]},
        {"before": "", "candidates": []},
    ]
}
FITS = "def fits(size):\n    if size >= limit:\n        return size + 1\n    return 0\n"

# Takes an item of the menu as a user does, and keeps what was shown.
CHOOSE = """
local wanted = ...
_G.shown = nil
_G.neovims_select = _G.neovims_select or vim.ui.select
vim.ui.select = function(items, options, done)
  _G.shown = vim.tbl_map(options.format_item, items)
  done(items[wanted], wanted)
end
vim.lsp.buf.code_action()
"""


running = shared({"settings": {"explicitBudgetMs": 20_000}}, SCRIPT)


def shown(nvim: Editor) -> list[str]:
    return nvim.lua("return _G.shown") or []


def test_the_third_alternative_to_a_condition_is_taken_and_undone_at_once(nvim: Editor) -> None:
    nvim.rest_at(FITS.replace("if size >=", "if size │>="))
    before = nvim.text
    nvim.lua(CHOOSE, 3)
    nvim.until(lambda: nvim.text != before)
    assert [title.split(" [")[0] for title in shown(nvim)][:3] == [
        "Rewrite condition: size > limit",
        "Rewrite condition: size == limit",
        "Rewrite condition: limit <= size",
    ]
    assert nvim.text == before.replace("size >= limit", "limit <= size")
    nvim.type("u")
    nvim.until(lambda: nvim.text == before)


def test_a_broken_line_is_fixed(nvim: Editor) -> None:
    nvim.rest_at(FITS.replace("if size >= limit:", "if size │>= limit"))
    nvim.lua(CHOOSE, 1)
    nvim.until(lambda: "if size >= limit:" in nvim.text)
    assert shown(nvim)[0].startswith("Fix line: if size >= limit:")
