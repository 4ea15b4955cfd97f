"""Beside completion menus and snippets. INFILL_BLINK and INFILL_NVIM_CMP name folders that hold those plugins' code."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nvim_editor import LUA, Editor, Start, editor, shared

SCRIPT = {
    "rules": [
        {"before": "x = xy", "candidates": ["z(1)"]},
        {"before": "x = xylophone", "candidates": ["(tune)"]},
        {"before": "x = xylem", "candidates": ["[0]"]},
        {"before": "x = ", "candidates": ["alpha(1)"]},
        {"before": "f(", "candidates": ["first"]},
    ]
}
OTHERS = "\nxylophone = 1\nxylem = 2\n"
SETTLED = 600  # milliseconds without a key, in which Neovim asks and is answered

running = shared({"settings": {"budgetMs": 5000}}, SCRIPT)


@pytest.fixture
def beside(neovim: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Starts a Neovim with a completion plugin, or skips where its folder is not named."""

    @contextlib.contextmanager
    def started(plugin: str, **options: Any) -> Iterator[Editor]:
        variable = {"blink": "INFILL_BLINK", "cmp": "INFILL_NVIM_CMP"}[plugin]
        if not os.environ.get(variable):
            pytest.skip(f"{variable} names no folder with the plugin's code")
        monkeypatch.setenv("INFILL_MENU", os.environ[variable])
        monkeypatch.setenv("INFILL_MENU_OPTIONS", json.dumps({"plugin": plugin, "setup": {}, **options}))
        with editor(tmp_path, {"settings": {"budgetMs": 5000}}, SCRIPT, init=LUA / "menus.lua") as made:
            made.open("x = │" + OTHERS)
            made.ready()
            made.until_ghost("alpha(1)")
            yield made

    return started


def settle(nvim: Editor) -> None:
    nvim.lua("vim.wait(...)", SETTLED)


def gives_way(nvim: Editor) -> None:
    """The ghost text goes, and none comes back."""
    nvim.until_ghost(None)
    settle(nvim)
    assert nvim.ghost() is None


def menu_is_open(nvim: Editor) -> bool:
    return bool(
        nvim.lua("""
            local blink, cmp = package.loaded['blink.cmp'], package.loaded['cmp']
            local theirs = (blink and blink.is_menu_visible()) or (cmp and cmp.visible())
            return vim.fn.pumvisible() ~= 0 or theirs or false""")
    )


# Neovim's own menu.


@pytest.mark.parametrize("options", ["menu,menuone", "menu,menuone,noselect", "menu,menuone,noinsert"])
def test_neovims_menu(nvim: Editor, options: str) -> None:
    nvim.command(f"set completeopt={options}")
    nvim.offered("x = │" + OTHERS, "alpha(1)")
    nvim.type("xy")
    nvim.until_ghost("z(1)")
    nvim.type("<C-x><C-n>")
    nvim.until(lambda: menu_is_open(nvim))
    if options.endswith("noselect"):  # nothing is selected yet
        settle(nvim)
        assert nvim.ghost() == "z(1)"
        nvim.type("<C-n>")
    if options.endswith("noinsert"):  # an item is selected that is not in the text
        gives_way(nvim)
        assert nvim.status() == "infill silent: the menu has another item"
        nvim.type("<C-e>z")
        nvim.until_ghost("(1)")
        return
    nvim.until(lambda: nvim.ghost() == "(tune)")
    nvim.type("<C-n>")
    nvim.until_ghost("[0]")
    nvim.type("<Tab>")
    nvim.until(lambda: nvim.marked.startswith("x = xylem[0]│"))


# A menu of blink.cmp. By default, its first item is selected as soon as it opens.


def test_blink_with_an_item_selected(beside: Start) -> None:
    with beside("blink") as nvim:
        nvim.type("xy")
        nvim.until(lambda: menu_is_open(nvim))
        gives_way(nvim)
        nvim.type("<C-e>")
        nvim.until(lambda: not menu_is_open(nvim))
        nvim.until_ghost("z(1)")
        nvim.type("<Tab>")
        nvim.until(lambda: nvim.marked.startswith("x = xyz(1)│"))


def test_blink_accepts_its_item_and_we_go_on(beside: Start) -> None:
    with beside("blink") as nvim:
        nvim.type("xylop")
        nvim.until(lambda: menu_is_open(nvim))
        nvim.type("<C-y>")
        nvim.until(lambda: nvim.marked.startswith("x = xylophone│"))
        nvim.until_ghost("(tune)")
        nvim.type("<Tab>")
        nvim.until(lambda: nvim.marked.startswith("x = xylophone(tune)│"))


def test_blink_without_a_selection(beside: Start) -> None:
    with beside("blink", setup={"completion": {"list": {"selection": {"preselect": False}}}}) as nvim:
        nvim.type("xy")
        nvim.until(lambda: menu_is_open(nvim))
        nvim.until_ghost("z(1)")
        nvim.type("<C-n>")  # puts the item into the text
        nvim.until(lambda: nvim.ghost() in ("(tune)", "[0]"))
        ghost = nvim.ghost()
        nvim.type("<Tab>")
        nvim.until(lambda: f"{ghost}│" in nvim.marked)


def test_blinks_super_tab(beside: Start) -> None:
    with beside("blink", setup={"keymap": {"preset": "super-tab"}}) as nvim:
        nvim.type("<Tab>")
        nvim.until(lambda: nvim.marked.startswith("x = alpha(1)│"))
        nvim.type(" + xylop")
        nvim.until(lambda: menu_is_open(nvim))
        nvim.type("<Tab>")
        nvim.until(lambda: nvim.marked.startswith("x = alpha(1) + xylophone│"))


# A menu of nvim-cmp.


def test_cmp_without_a_selection(beside: Start) -> None:
    with beside("cmp") as nvim:
        nvim.type("xy")
        nvim.until(lambda: menu_is_open(nvim))
        nvim.until_ghost("z(1)")
        nvim.type("<C-n>")
        nvim.until(lambda: nvim.marked.startswith("x = xylophone│"))
        nvim.until_ghost("(tune)")
        nvim.type("<Tab>")
        nvim.until(lambda: nvim.marked.startswith("x = xylophone(tune)│"))


@pytest.mark.parametrize("options", [{"preselect": True}, {"behavior": "Select"}], ids=str)
def test_cmp_with_an_item_selected(beside: Start, options: dict[str, Any]) -> None:
    with beside("cmp", **options) as nvim:
        nvim.type("xy")
        nvim.until(lambda: menu_is_open(nvim))
        if "behavior" in options:
            nvim.until_ghost("z(1)")
            nvim.type("<C-n>")
        gives_way(nvim)
        nvim.type("<C-e>")
        nvim.until(lambda: not menu_is_open(nvim))
        nvim.until_ghost("z(1)")


def test_cmp_on_tab(beside: Start) -> None:
    with beside("cmp", tab=True) as nvim:
        nvim.type("<Tab>")
        nvim.until(lambda: nvim.marked.startswith("x = alpha(1)│"))
        nvim.type(" + xy")
        nvim.until(lambda: menu_is_open(nvim))
        settle(nvim)
        assert nvim.ghost() is None
        nvim.type("<Tab>")
        nvim.until(lambda: nvim.marked.startswith("x = alpha(1) + xylophone│"))


# Snippets.


def test_a_snippet_in_progress_is_left_alone(nvim: Editor) -> None:
    nvim.open("│")
    nvim.lua("vim.snippet.expand('f(${1:a}, ${2:b})$0')")
    nvim.until(lambda: nvim.mode == "s")
    nvim.type("x = ")
    nvim.until_marked("f(x = │, b)")
    settle(nvim)
    assert nvim.ghost() is None
    assert nvim.status() == "infill silent: a snippet is active"
    nvim.type("<Tab>")
    nvim.until(lambda: nvim.mode == "s")
    nvim.type("y<Tab>")
    nvim.until_marked("f(x = , y)│")
    nvim.type("; x = ")
    nvim.until_ghost("alpha(1)")
