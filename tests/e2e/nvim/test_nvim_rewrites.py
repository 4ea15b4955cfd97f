"""Next edits of a model in a real Neovim: rewritten lines as a diff, late ones, and what the status says of them."""

import sys
import time
from pathlib import Path
from typing import Any

import pytest
from nvim_editor import Editor, Start, shared
from rewriting_server import (
    CHECK,
    CHECK_SLOWLY,
    EDITED,
    FIRST,
    IMPORTED,
    NAMED,
    NAMELESS,
    NEW,
    NO_NAME,
    OLD,
    ORDERED,
    PROGRAM,
    SECONDS,
    WRONG,
)

KEY = "<M-n>"
SERVER = [sys.executable, str(Path(__file__).parents[1] / "rewriting_server.py")]
LATER = SECONDS + 1  # after which nothing comes any more
AT = PROGRAM.index(EDITED)
TEXT = PROGRAM[:AT] + "│" + PROGRAM[AT:]
ROW = PROGRAM[: PROGRAM.index(OLD)].count("\n")

# Neovim's own marks: row, column, end column, highlight, text at the line's end, lines below or above.
MARKS = """
local namespace = vim.api.nvim_get_namespaces()['infill.next_edit']
local function text(chunks)
  return vim.iter(chunks or {}):map(function(chunk) return chunk[1] end):join('')
end
return vim.iter(namespace and vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true }) or {})
  :map(function(mark)
    local of = mark[4]
    return { mark[2], mark[3], of.end_col or 0, of.hl_group or '', text(of.virt_text),
      of.virt_lines or {} }
  end):totable()
"""
REQUESTS = """
local client = vim.lsp.get_clients({ name = 'infill_ls' })[1]
local request = client.request
_G.asked = 0
client.request = function(self, method, ...)
  _G.asked = _G.asked + (method == 'infill/nextEdit' and 1 or 0)
  return request(self, method, ...)
end
"""
TOLD = """
_G.told = {}
vim.api.nvim_create_autocmd('User', { pattern = 'InfillStatus', callback = function()
  vim.list_extend(_G.told, require('infill.status').lines())
end })
"""
NONE = "no next edit: everything still fits"
NOT_YET = "no next edit: nothing is certain, and the model found nothing in time"
Drawn = list[list[Any]]


running = shared({"cmd": SERVER, "settings": {"explicitBudgetMs": 5000}})
hurried = shared({"cmd": SERVER, "settings": {"explicitBudgetMs": 50}})


@pytest.fixture
def nvim(nvim: Editor) -> Editor:
    """An editor with PROGRAM, at the place of the edit."""
    nvim.open(TEXT)
    return nvim


@pytest.fixture
def late(hurried: Editor) -> Editor:
    """The same, in an editor for which CHECK_SLOWLY comes too late. What was told meanwhile is in `_G.told`."""
    hurried.fresh()
    hurried.open(TEXT)
    hurried.lua(TOLD)
    return hurried


def drawn(nvim: Editor) -> Drawn:
    return list(nvim.lua(MARKS))


def status(nvim: Editor) -> list[str]:
    return list(nvim.lua("return require('infill.status').lines()"))


def screen(nvim: Editor) -> str:
    return str(
        nvim.lua("""
            vim.cmd.redraw()
            local text = ''
            for row = 1, vim.o.lines do
              for column = 1, vim.o.columns do
                text = text .. vim.fn.screenstring(row, column)
              end
            end
            return text""")
    )


def edit(nvim: Editor, new: str) -> str:
    """Type an edit over the one that waits for it, and leave insert mode; the text then."""
    nvim.type(f"<C-o>C{new}<Esc>")
    edited = PROGRAM.replace(EDITED, new)[:-1]
    nvim.until(lambda: nvim.mode == "n" and nvim.text == edited)
    return edited


def stays_silent(nvim: Editor) -> None:
    end = time.monotonic() + LATER
    while time.monotonic() < end:
        assert drawn(nvim) == []
        time.sleep(0.05)


def test_rewritten_lines_are_drawn_as_a_diff(nvim: Editor) -> None:
    edit(nvim, CHECK)
    nvim.until(lambda: drawn(nvim))
    marks = drawn(nvim)
    lines = OLD.splitlines()
    old = [(lines[mark[0] - ROW][mark[1] : mark[2]], mark[3]) for mark in marks if mark[3]]
    assert [text for text, highlight in old if highlight == "InfillNextEditOld"] == [
        "    name = str(path)",
        "os.lstat",
        "name",
    ]
    assert "".join(text for text, _ in old) == "".join(lines)
    assert [(mark[0], mark[4]) for mark in marks if mark[4]] == [(ROW, "  change 4 lines")]
    ((row, below),) = [(mark[0], mark[5]) for mark in marks if mark[5]]
    assert row == ROW + 1
    assert ["".join(text for text, _ in line) for line in below] == NEW.splitlines()
    assert [text for text, highlight in below[1] if highlight == "InfillNextEditNew"] == ["check", "path"]


def test_a_rewrite_is_gone_to_applied_and_undone_at_once(nvim: Editor) -> None:
    edited = edit(nvim, CHECK)
    nvim.until(lambda: drawn(nvim))
    nvim.type(KEY)
    nvim.until(lambda: nvim.nvim.current.window.cursor[0] == ROW + 1)
    assert nvim.text == edited
    nvim.type("j" + KEY)  # anywhere in its lines
    nvim.until(lambda: nvim.text == edited.replace(OLD, NEW))
    assert drawn(nvim) == []
    nvim.type("u")
    nvim.until(lambda: nvim.text == edited)


def test_tab_does_the_same_in_insert_mode(nvim: Editor) -> None:
    nvim.type(f"<C-o>C{CHECK}")
    edited = PROGRAM.replace(EDITED, CHECK)[:-1]
    nvim.until(lambda: drawn(nvim))
    nvim.type("<Tab>")
    nvim.until(lambda: "│name" in nvim.marked)
    assert nvim.text == edited
    nvim.type("<Tab>")
    nvim.until(lambda: nvim.text == edited.replace(OLD, NEW))
    nvim.type("<Esc>u")
    nvim.until(lambda: nvim.text == edited)


def test_functions_in_mappings_of_the_user_do_the_same(nvim: Editor) -> None:
    nvim.command("inoremap <expr> <F2> v:lua.require'infill'.accept() ? '' : 'Z'")
    nvim.type(f"<C-o>C{CHECK}")
    nvim.until(lambda: drawn(nvim))
    nvim.type("<F2>")
    nvim.until(lambda: "│name" in nvim.marked)
    nvim.type("<F2>")
    nvim.until(lambda: NEW in nvim.text)
    nvim.type("<F2>")
    nvim.until(lambda: "Z" in nvim.text)


def test_tab_indents_where_only_blanks_are_left_of_the_cursor(nvim: Editor) -> None:
    edit(nvim, CHECK)
    nvim.until(lambda: drawn(nvim))
    nvim.type("I<Tab>")
    nvim.until(lambda: "\n        return check(path)" in nvim.text)


def test_the_window_scrolls_to_lines_below_its_end(nvim: Editor) -> None:
    edit(nvim, CHECK)
    lines = nvim.lua("return vim.o.lines")
    nvim.command(f"set lines={ROW + 4}")
    nvim.until(lambda: drawn(nvim))
    nvim.type(KEY)
    nvim.until(lambda: "return 0" in screen(nvim))
    nvim.command(f"set lines={lines}")


DIAGNOSE = """
local row, message = ...
vim.diagnostic.set(vim.api.nvim_create_namespace('other server'), 0, {
  { lnum = row, col = 0, message = 'unused', severity = vim.diagnostic.severity.WARN },
  { lnum = row, col = 0, message = message, severity = vim.diagnostic.severity.ERROR },
})
"""


def test_an_error_of_another_server_is_told_when_it_comes(nvim: Editor) -> None:
    nvim.lua(REQUESTS)
    edit(nvim, WRONG)
    nvim.until(lambda: NONE in status(nvim))
    nvim.lua(DIAGNOSE, ROW, NO_NAME)
    nvim.until(lambda: drawn(nvim))
    asked = nvim.lua("return _G.asked")
    nvim.lua(DIAGNOSE, ROW, NO_NAME)
    stays = time.monotonic() + LATER / 2
    while time.monotonic() < stays:
        assert nvim.lua("return _G.asked") == asked


def test_an_edit_of_another_file_is_followed_at_the_cursor(start: Start, tmp_path: Path) -> None:
    other = tmp_path / "other.py"
    program = PROGRAM.replace(EDITED, "len(path)")  # where nothing is to be repeated
    other.write_text(program)
    # An editor of its own: both files' edits would be repeated in those of other tests.
    with start({"cmd": SERVER, "settings": {"explicitBudgetMs": 5000}}) as nvim:
        nvim.open(TEXT)
        nvim.ready()
        edit(nvim, CHECK)
        nvim.until(lambda: drawn(nvim))
        nvim.command(f"edit +{ROW + 1} {other}")
        nvim.until(lambda: [mark[4] for mark in drawn(nvim) if mark[4]] == ["  change 4 lines"])
        nvim.type(KEY)
        nvim.until(lambda: nvim.text == program.replace(OLD, NEW)[:-1])


def test_what_is_found_late_is_shown(late: Editor) -> None:
    edit(late, CHECK_SLOWLY)
    late.until(lambda: drawn(late))
    assert NOT_YET in late.lua("return _G.told")
    assert "next edit: change 4 lines (72 %)" in status(late)


@pytest.mark.parametrize("keys", ["x", "u", ":enew!<CR>"])
def test_what_is_found_late_is_not_shown_once_something_has_changed(late: Editor, keys: str) -> None:
    edit(late, CHECK_SLOWLY)
    late.until(lambda: NOT_YET in late.lua("return _G.told"))
    late.type(keys)
    stays_silent(late)


def test_what_was_dismissed_stays_away(nvim: Editor) -> None:
    edit(nvim, CHECK)
    nvim.until(lambda: drawn(nvim))
    nvim.type("<Esc>")
    nvim.until(lambda: not drawn(nvim))
    nvim.lua("require('infill.next_edit').ask(vim.api.nvim_get_current_buf())")
    stays_silent(nvim)


def test_an_edit_of_the_lines_removes_the_diff(nvim: Editor) -> None:
    edit(nvim, CHECK)
    nvim.until(lambda: drawn(nvim))
    nvim.type(f"{ROW + 1}GAx<Esc>")
    nvim.until(lambda: "str(path)x" in nvim.text and not drawn(nvim))
    stays_silent(nvim)


def test_a_finished_file_stays_silent_while_the_cursor_moves_through_it(nvim: Editor) -> None:
    edit(nvim, CHECK)
    nvim.until(lambda: drawn(nvim))
    nvim.type(KEY + KEY)
    nvim.until(lambda: NEW in nvim.text)
    nvim.until(lambda: any(line.startswith("no next edit") for line in status(nvim)))
    nvim.lua(REQUESTS)
    nvim.type("gg" + "j$k^j" * len(nvim.text.splitlines()) + "ggw*")
    stays_silent(nvim)
    assert nvim.lua("return _G.asked") == 0


def test_lines_above_the_first_one_can_be_seen(nvim: Editor) -> None:
    edited = edit(nvim, ORDERED)
    nvim.until(lambda: drawn(nvim))
    assert screen(nvim).startswith("import collections")
    nvim.type(KEY + KEY)
    nvim.until(lambda: nvim.text == edited.replace(FIRST, IMPORTED, 1))


def test_lines_are_removed(nvim: Editor) -> None:
    edited = edit(nvim, NAMELESS)
    nvim.until(lambda: drawn(nvim))
    assert [mark[3:] for mark in drawn(nvim)] == [["InfillNextEditOld", "", []], ["", "  remove 1 line", []]]
    nvim.type(KEY + KEY)
    nvim.until(lambda: nvim.text == edited.replace(NAMED, ""))


def test_it_is_turned_off_and_on_by_a_command(nvim: Editor) -> None:
    nvim.command("Infill toggle-next-edit-model")
    edit(nvim, CHECK)
    nvim.until(lambda: NONE in status(nvim))
    assert "next edits are on" in status(nvim)
    nvim.command("Infill toggle-next-edit-model")
    assert "next edits are on, those of the model too" in status(nvim)
    nvim.until(lambda: drawn(nvim))
    assert nvim.status() == "infill: next edit of the model, 1 place"


HUNK = """
local lines, edit = ...
vim.cmd.enew({ bang = true })
vim.api.nvim_buf_set_lines(0, 0, -1, false, lines)
local hunk = require('infill.hunk').of(0, edit, 'utf-16')
local function marked(lines)
  return vim.iter(lines):map(function(pieces)
    return vim.iter(pieces):map(function(piece)
      return piece.changed and '<' .. piece.text .. '>' or piece.text
    end):join('')
  end):totable()
end
return hunk and { hunk.row, marked(hunk.old), marked(hunk.new) }
"""


@pytest.mark.parametrize(
    ("lines", "at", "old", "new", "hunk"),
    [
        ("a b", (0, 2, 0, 3), "b", "c", [0, ["a <b>"], ["a <c>"]]),
        ("a|b", (1, 0, 1, 0), "", "x\n", [1, [], ["<x>"]]),
        ("a|b", (0, 1, 0, 1), "", "\nx", [1, [], ["<x>"]]),
        ("a|b", (2, 0, 2, 0), "", "x\n", [2, [], ["<x>"]]),
        ("a|b|c", (1, 0, 2, 0), "b\n", "", [1, ["<b>"], []]),
        ("a|b", (1, 0, 2, 0), "b\n", "", [1, ["<b>"], []]),
        ("a|b", (0, 0, 1, 1), "a\r\nb", "a\r\n\r\nb", [1, [], [""]]),
        ("f(é, '😀b')|x", (0, 2, 0, 10), "é, '😀b'", "é, '😀c'", [0, ["f(é, '<😀b>')"], ["f(é, '<😀c>')"]]),
        ("f(a)|g(b)", (0, 2, 1, 3), "a)\ng(b", "c)\ng(d", [0, ["f(<a>)", "g(<b>)"], ["f(<c>)", "g(<d>)"]]),
        ("x = one two", (0, 4, 0, 11), "one two", "three four", [0, ["x = <one two>"], ["x = <three four>"]]),
        ("a  b", (0, 0, 0, 4), "a  b", "a b", [0, ["a<  >b"], ["a< >b"]]),
        ("  a|  b", (0, 0, 1, 3), "  a\n  b", "  a\n    b\n  c", [1, ["  b"], ["    b", "<  c>"]]),
        ("a|b", (0, 0, 0, 1), "z", "c", None),
        ("a", (3, 0, 3, 1), "z", "c", None),
    ],
)
def test_what_an_edit_does_to_lines(
    nvim: Editor, lines: str, at: tuple[int, ...], old: str, new: str, hunk: Any
) -> None:
    places = [{"line": at[0], "character": at[1]}, {"line": at[2], "character": at[3]}]
    edit = {"range": {"start": places[0], "end": places[1]}, "oldText": old, "newText": new}
    assert nvim.lua(HUNK, lines.split("|"), edit) == hunk
