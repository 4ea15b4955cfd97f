"""Next edits in a real Neovim: shown, applied, undone, dismissed."""

from collections.abc import Callable

import pytest
from nvim_editor import Editor

KEY = "<M-n>"
RENAME = "def f(│size, b):\n    # size\n    return size + b\n\n\nf(size=1, b=2)\n"

# Neovim's own marks with text at the end of the line, so that a test does not ask the plugin what the plugin shows.
MARKS = """
local namespace = vim.api.nvim_get_namespaces()['infill.next_edit']
if not namespace then
  return {}
end
local found = {}
for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })) do
  local text = ''
  for _, chunk in ipairs(mark[4].virt_text or {}) do
    text = text .. chunk[1]
  end
  if text ~= '' then
    table.insert(found, { mark[2], mark[3], text })
  end
end
return found
"""


Marks = Callable[[], list[list[object]]]


@pytest.fixture
def marks(nvim: Editor) -> Marks:
    return lambda: nvim.lua(MARKS)


def texts(marks: Marks) -> list[str]:
    return [str(mark[2]) for mark in marks()]


def replace_word(nvim: Editor, new: str) -> None:
    """Type a word over the one at the cursor, and leave insert mode."""
    nvim.type(f"<Esc>ciw{new}<Esc>")
    nvim.until(lambda: nvim.mode == "n")


def test_a_name_typed_anew_is_followed_and_undone_at_once(nvim: Editor, marks: Marks) -> None:
    nvim.rest_at(RENAME)
    replace_word(nvim, "width")
    nvim.until(lambda: len(marks()) == 2)
    assert texts(marks) == ["  -> width  rename 2 more uses", "  -> width"]
    renamed = nvim.text
    nvim.type(KEY)
    nvim.until(lambda: nvim.nvim.current.window.cursor[0] == 3)
    assert nvim.text == renamed
    nvim.type(KEY)
    nvim.until(lambda: nvim.text == RENAME.replace("│", "").replace("size", "width").replace("# width", "# size")[:-1])
    assert marks() == []
    nvim.type("u")
    nvim.until(lambda: nvim.text == renamed)
    nvim.type("u")
    nvim.until(lambda: nvim.text == RENAME.replace("│", "")[:-1])


def test_what_was_replaced_in_one_file_is_offered_in_the_next(nvim: Editor, marks: Marks) -> None:
    nvim.rest_at("first = │requests.get(path)\nsecond = requests.get(place)\n", "one.py")
    for _ in range(2):
        replace_word(nvim, "client")
        nvim.type("j02w")
    nvim.rest_at("import client\n\n│third = requests.get(url)\n", "two.py")
    nvim.until(lambda: any("change 1 similar place" in text for text in texts(marks)))
    nvim.type(KEY)
    nvim.until(lambda: nvim.text == "import client\n\nthird = client.get(url)")
    nvim.type("u")
    nvim.until(lambda: "requests" in nvim.text)


def test_an_imported_name_replaced_twice_is_replaced_and_not_renamed(nvim: Editor, marks: Marks) -> None:
    nvim.rest_at("from json import loads\n\nfirst = │loads(a)\nsecond = loads(b)\nthird = loads(c)\n")
    replace_word(nvim, "parse")
    nvim.type("j02w")
    replace_word(nvim, "parse")
    nvim.until(lambda: any("replace 1 more use" in text for text in texts(marks)))
    before = nvim.text
    nvim.type(KEY + KEY)
    expected = "from json import loads\n\nfirst = parse(a)\nsecond = parse(b)\nthird = parse(c)"
    nvim.until(lambda: nvim.text == expected)
    nvim.type("u")
    nvim.until(lambda: nvim.text == before)


ARMS = "        Colour::Red => 1,\n        Colour::Green => 2,\n"
MATCH = f"(c: Colour) -> u8 {{\n    match c {{\n{ARMS}    }}\n}}\n"
ENUM = f"enum Colour {{\n    Red,\n    │Green,\n}}\n\nfn name{MATCH}fn other{MATCH}"
RESULT = "def f(a):\n    return │a\n\n\nx = f(1)\n\n\ndef g():\n    y = f(2)\n    return y\n"
CALLS = "def f(│a):\n    return a\n\n\ndef g(b):\n    return f(1) + f(\n        2\n    )\n"
CONSEQUENCES = {
    # a file, the keys that edit it, what is offered, and what in the edited text becomes what then
    "arms of a variant": (
        *("example.rs", ENUM, "oBlue,<Esc>", "add 2 cases of Blue"),
        [(ARMS, f"{ARMS}        Colour::Blue => 2,\n")],
    ),
    "values of a result": (
        *("example.py", RESULT, "A, size<Esc>", "take size from 2 calls"),
        [("x = f(1)", "x, size = f(1)"), ("y = f(2)", "y, size = f(2)")],
    ),
    "arguments of calls": (
        *("example.py", CALLS, "a, b<Esc>", "pass b in 2 calls"),
        [("f(1)", "f(1, b)"), ("        2\n", "        2,\n        b\n")],
    ),
}


@pytest.mark.parametrize("name", CONSEQUENCES)
def test_a_consequence_is_applied_everywhere_and_undone_at_once(nvim: Editor, marks: Marks, name: str) -> None:
    file, marked, keys, label, changes = CONSEQUENCES[name]
    nvim.rest_at(marked, file)
    nvim.type(keys)
    nvim.until(lambda: any(label in text for text in texts(marks)))
    before = after = nvim.text
    for old, new in changes:
        after = after.replace(old, new)
    nvim.type(KEY + KEY)
    nvim.until(lambda: nvim.text == after)
    nvim.type("u")
    nvim.until(lambda: nvim.text == before)


def test_an_edit_without_consequence_stays_silent(nvim: Editor, marks: Marks) -> None:
    nvim.rest_at("def f(a):\n    return │a\n\n\nf(1)\n")
    nvim.type("O# a comment about a<Esc>")
    answered = "return vim.lsp.get_clients({ name = 'infill_ls' })[1].requests"
    nvim.until(lambda: not nvim.lua(answered))
    nvim.lua("require('infill.next_edit').ask(vim.api.nvim_get_current_buf())")
    nvim.until(lambda: not nvim.lua(answered))
    assert marks() == []
    assert nvim.lua("return require('infill').next_edit()") is False


def test_an_edit_while_a_proposal_is_shown_moves_it(nvim: Editor, marks: Marks) -> None:
    nvim.rest_at(RENAME)
    replace_word(nvim, "width")
    nvim.until(lambda: len(marks()) == 2)
    nvim.type("ggOimport os<Esc>")
    nvim.until(lambda: [mark[0] for mark in marks()] == [3, 6])
    nvim.type(KEY + KEY)
    nvim.until(lambda: "f(width=1" in nvim.text)
    assert "return width" in nvim.text


def test_an_edit_at_a_shown_place_withdraws_it(nvim: Editor, marks: Marks) -> None:
    nvim.rest_at("def f(│size):\n    return size\n")
    replace_word(nvim, "width")
    nvim.until(lambda: len(marks()) == 1)
    nvim.type("j$ax<Esc>")
    nvim.until(lambda: nvim.text.endswith("sizex") and not marks())


def test_escape_dismisses_for_good(nvim: Editor, marks: Marks) -> None:
    nvim.rest_at(RENAME)
    replace_word(nvim, "width")
    nvim.until(lambda: len(marks()) == 2)
    nvim.type("<Esc>")
    nvim.until(lambda: not marks())
    assert reason(nvim) == "dismissed"


def test_the_list_applies_what_is_taken(nvim: Editor, marks: Marks) -> None:
    nvim.rest_at("class A:\n    def __init__(self, a│):\n        self.a = a\n\n\nx = A(1)\n")
    nvim.type("ha, b<Esc>")
    nvim.until(lambda: "(1/2)" in "".join(texts(marks)))
    nvim.lua("""
        _G.labels = {}
        _G.neovims_select = vim.ui.select
        vim.ui.select = function(items, options, done)
          for _, item in ipairs(items) do
            table.insert(_G.labels, options.format_item(item))
          end
          done(items[2], 2)
        end""")
    try:
        nvim.command("Infill next-edits")
        nvim.until(lambda: "x = A(1, b)" in nvim.text)
    finally:
        nvim.lua("vim.ui.select = _G.neovims_select")
    assert nvim.lua("return _G.labels") == ["keep b in a field:  -> self.b = b", "pass b in 1 call:  -> , b"]
    nvim.until(lambda: any("keep b in a field" in text for text in texts(marks)))
    nvim.type(KEY + KEY)
    nvim.until(lambda: "        self.b = b" in nvim.text)


def test_undo_is_followed_by_silence(nvim: Editor, marks: Marks) -> None:
    nvim.rest_at(RENAME)
    replace_word(nvim, "width")
    nvim.until(lambda: len(marks()) == 2)
    nvim.type("u")
    nvim.until(lambda: nvim.text == RENAME.replace("│", "")[:-1] and not marks())
    assert reason(nvim) == "undo"


def test_our_list_shows_the_highlighted_proposal_in_place(nvim: Editor, marks: Marks) -> None:
    nvim.rest_at("class A:\n    def __init__(self, a│):\n        self.a = a\n\n\nx = A(1)\n")
    nvim.type("ha, b<Esc>")
    nvim.until(lambda: "(1/2)" in "".join(texts(marks)))
    nvim.command("Infill next-edits")
    nvim.type("<Down>")
    nvim.until(lambda: "pass b in 1 call (2/2)" in "".join(texts(marks)))
    nvim.type("<Esc>")
    nvim.until(lambda: "keep b in a field (1/2)" in "".join(texts(marks)))
    nvim.command("Infill next-edits")
    nvim.type("<Down><CR>")
    nvim.until(lambda: "x = A(1, b)" in nvim.text)


def test_the_status_says_how_many_places_and_that_they_are_off(nvim: Editor, marks: Marks) -> None:
    nvim.rest_at(RENAME)
    replace_word(nvim, "width")
    nvim.until(lambda: len(marks()) == 2)
    assert nvim.lua("return require('infill').status()") == "infill: next edit, 2 places"
    nvim.command("Infill toggle-next-edits")
    assert marks() == []
    assert "next edits are off" in nvim.lua("return require('infill.status').lines()")
    nvim.until(lambda: reason(nvim) == "disabled")
    nvim.command("Infill toggle-next-edits")
    nvim.until(lambda: reason(nvim) is None)
    nvim.lua("require('infill.next_edit').ask(vim.api.nvim_get_current_buf())")
    nvim.until(lambda: len(marks()) == 2)


def reason(nvim: Editor) -> str | None:
    """Why the server proposes nothing."""
    found = nvim.lua("""
        local client = vim.lsp.get_clients({ name = 'infill_ls' })[1]
        local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
        local told = client:request_sync('infill/nextEdit', params, 5000, 0).result.reason
        return told ~= vim.NIL and told or nil""")
    return None if found is None else str(found)
