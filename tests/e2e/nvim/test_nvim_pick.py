"""Picking from the list, with the highlighted candidate previewed where it would stand."""

import re

import pytest
from nvim_editor import Editor, Start

PREVIEW = "infill.preview"


def preview(nvim: Editor) -> str | None:
    mark = nvim.mark(PREVIEW)
    return mark[2] if mark else None


def is_finished(nvim: Editor) -> bool:
    """Whether the list has the answer: a canvas before it cannot be chosen."""
    return (nvim.list() or [""])[0].endswith("ms ")


@pytest.mark.parametrize(
    ("marked", "keys", "previewed", "after"),
    [
        ("x = │", "", "alpha(1)", "x = alpha(1)│"),
        ("x = │", "<Down>", "beta(2, 3)", "x = beta(2, 3)│"),
        ("x = │", "<C-n><C-n>", "gamma", "x = gamma│"),
        ("x = │", "<Up>", "gamma", "x = gamma│"),
        ("f(mid(│), 2)", "<Down>", "second", "f(mid(second│), 2)"),
        ("a = '😀é' + │", "", "'ünï' + tail", "a = '😀é' + 'ünï' + tail│"),
        ("def f():\n    │\n\n\n1", "", "one = 1\n    return one", "def f():\n    one = 1\n    return one│\n\n\n1"),
    ],
)
def test_in_insert_mode(nvim: Editor, marked: str, keys: str, previewed: str, after: str) -> None:
    nvim.open(marked)
    nvim.type("<M-p>")
    nvim.until(lambda: preview(nvim))
    nvim.type(keys)
    nvim.until(lambda: preview(nvim) == previewed)
    assert nvim.marked == marked, "a preview changes nothing"
    assert nvim.ghost() is None, "one ghost text is enough"
    nvim.type("<CR>")
    nvim.until_marked(after)
    assert (nvim.mode, nvim.list(), preview(nvim)) == ("i", None, None)
    nvim.type("<Esc>u")
    nvim.until(lambda: nvim.text == marked.replace("│", ""))


def test_each_entry_has_its_confidence_and_time(nvim: Editor) -> None:
    nvim.open("x = │")
    nvim.type("<M-p>")
    lines = nvim.until(lambda: is_finished(nvim) and nvim.list())
    for number, (line, text) in enumerate(zip(lines, ["alpha(1)", "beta(2, 3)", "gamma"], strict=True), 1):
        entry = re.fullmatch(r" (\d) (.*?) +(\d+) % · (\d+) ms ", line)
        assert entry, line
        assert entry.group(1, 2) == (str(number), text)
        assert 0 < int(entry.group(3)) <= 100
    nvim.type("2")
    nvim.until_marked("x = beta(2, 3)│")


@pytest.mark.parametrize(
    ("keys", "after", "mode"),
    [
        ("<Esc>", "x = │", "i"),
        ("<C-e>", "x = │", "i"),
        ("q", "x = q│", "i"),
        ("<Left>", "x =│ ", "i"),
    ],
)
def test_leaving_it(nvim: Editor, keys: str, after: str, mode: str) -> None:
    nvim.open("x = │")
    nvim.type("<M-p>")
    nvim.until(lambda: preview(nvim))
    nvim.type(keys)
    nvim.until(lambda: nvim.list() is None)
    nvim.until_marked(after)
    assert (nvim.mode, preview(nvim)) == (mode, None)
    nvim.type("<Esc>")  # the list's keys are gone
    nvim.until(lambda: nvim.mode == "n")


def test_asking_again_opens_it_anew(nvim: Editor) -> None:
    nvim.command("inoremap <C-e> mapped")
    nvim.open("x = │")
    nvim.type("<M-p>")
    nvim.until(lambda: preview(nvim) == "alpha(1)")
    nvim.type("<Down><M-p>")
    nvim.until(lambda: preview(nvim) == "alpha(1)")
    assert nvim.lua("return #vim.api.nvim_list_wins()") == 2, "the buffer's and one list's"
    nvim.type("<Esc>")
    nvim.until(lambda: nvim.list() is None)
    nvim.type("1<C-e>")  # both lists' keys are gone
    nvim.until_marked("x = 1mapped│")
    nvim.type("<Esc>")
    nvim.until(lambda: nvim.mode == "n")
    nvim.command("iunmap <C-e>")


def test_in_normal_mode(nvim: Editor) -> None:
    nvim.open("x = │")
    nvim.type("<Esc>")
    nvim.command("Infill pick")
    nvim.until(lambda: is_finished(nvim))
    nvim.type("j<CR>")
    nvim.until(lambda: nvim.text == "x = beta(2, 3)")
    assert nvim.mode == "n"
    nvim.type("u")
    nvim.until(lambda: nvim.text == "x = ")


@pytest.mark.parametrize(
    ("text", "keys", "after"),
    [
        ("    x = old", "gg0fovE:Infill pick<CR>", "    x = {}"),
        ("def f():\n    old", ":2Infill pick<CR>", "def f():\n    {}"),
        ("x = '😀' + old", "gg0f'vf':Infill pick<CR>", "x = {} + old"),
    ],
)
def test_replacing_what_is_selected(nvim: Editor, text: str, keys: str, after: str) -> None:
    nvim.open(text + "│")
    nvim.type("<Esc>" + keys)
    shown = nvim.until(lambda: is_finished(nvim) and preview(nvim))
    assert nvim.text == text
    nvim.type("<CR>")
    nvim.until(lambda: nvim.text == after.format(shown))


def test_lines_are_not_replaced(nvim: Editor) -> None:
    nvim.open("x = 1\ny = 2│")
    nvim.type("<Esc>")
    nvim.type(":%Infill pick<CR>")
    nvim.until(lambda: any("a part of one line" in message for message in nvim.messages))


def test_by_a_replaced_select(nvim: Editor) -> None:
    nvim.lua("""
        vim.g.infill_seen = nil
        _G.neovims_select = vim.ui.select
        vim.ui.select = function(items, options, choose)
          local preview = options.preview_item(items[2])
          local lines = vim.api.nvim_buf_get_lines(preview.buf, 0, -1, false)
          vim.g.infill_seen = { options.format_item(items[2]), lines[1] }
          vim.cmd.stopinsert()
          vim.schedule(function() choose(items[2], 2) end)
        end""")
    try:
        nvim.open("x = │")
        nvim.type("<M-p>")
        nvim.until_marked("x = beta(2, 3)│")
        nvim.until(lambda: nvim.mode == "i")
        label, shown = nvim.lua("return vim.g.infill_seen")
        assert label.startswith("beta(2, 3)")
        assert shown == "x = beta(2, 3)"
        assert preview(nvim) is None
    finally:
        nvim.lua("vim.ui.select = _G.neovims_select")


def test_a_select_that_never_answers_does_not_silence_what_is_typed_on(nvim: Editor) -> None:
    nvim.lua("""
        _G.neovims_select = vim.ui.select
        vim.ui.select = function() _G.selecting = true end""")
    try:
        nvim.open("x = │")
        nvim.type("<M-p>")
        nvim.until(lambda: nvim.lua("return _G.selecting"))
        nvim.type("<CR>y = ")
        nvim.until_ghost("other")
    finally:
        nvim.lua("vim.ui.select = _G.neovims_select")


@pytest.mark.parametrize("picker", ["list", "select"])
def test_the_server_ends_before_it_answers(start: Start, picker: str) -> None:
    script = {"rules": [{"before": "x = ", "candidates": ["alpha(1)"]}]}
    with start({"picker": picker}, script) as nvim:
        nvim.offered("x = │", "alpha(1)")
        nvim.lua("""
            local client = vim.lsp.get_clients()[1]
            client.rpc.request = function() return true, 4711 end
            require('infill').pick()
            client:stop(true)""")
        nvim.until(lambda: nvim.lua("return #vim.lsp.get_clients()") == 0)
        nvim.type("1<BS>")  # the list's keys are gone
        nvim.until_marked("x = │")
        nvim.command("Infill restart")
        nvim.attached()
        nvim.until_ghost("alpha(1)")


def test_a_buffer_that_can_no_longer_be_modified_is_left_alone(nvim: Editor) -> None:
    nvim.open("x = │")
    nvim.type("<Esc>")
    nvim.type(":setlocal nomodifiable<CR>:Infill pick<CR>")
    told = "infill leaves this buffer alone: it cannot be modified"
    nvim.until(lambda: told in nvim.messages)
    assert (nvim.list(), nvim.status()) == (None, "")
    nvim.type(":messages clear | setlocal modifiable<CR>:Infill pick<CR>")
    nvim.until(lambda: preview(nvim))
    nvim.type(":setlocal nomodifiable<CR><CR>")
    nvim.until(lambda: told in nvim.messages)
    assert (nvim.list(), nvim.text) == (None, "x = ")


def test_where_new_buffers_cannot_be_modified(nvim: Editor) -> None:
    nvim.open("x = │")
    nvim.command("set nomodifiable | setlocal modifiable")
    try:
        nvim.type("<M-p>")
        nvim.until(lambda: preview(nvim))
        nvim.type("<CR>")
        nvim.until_marked("x = alpha(1)│")
    finally:
        nvim.command("set modifiable")


def test_silence_has_a_reason(nvim: Editor) -> None:
    nvim.open("nothing│", "notes.txt")
    nvim.type("<M-p>")
    nvim.until(lambda: "infill: nothing to add" in nvim.messages)
    assert nvim.list() is None
    nvim.type(" more")
    nvim.until_marked("nothing more│")


def test_a_canvas_is_shown_while_it_develops(nvim: Editor) -> None:
    """Partial results as a server sends them; the request itself is answered by another."""
    nvim.open("x = │")
    nvim.lua("""
        local client = vim.lsp.get_clients()[1]
        local request = client.request
        client.request = function(self, method, params, handler, bufnr)
          if method ~= 'infill/candidates' then
            return request(self, method, params, handler, bufnr)
          end
          _G.send = function(step, text, state)
            local slots = { { text = 'al', state = 'fixed', confidence = 1 }, { text = text, state = state } }
            local value = { step = step, rows = { { slots = slots, source = 'model' } } }
            local progress = { token = params.partialResultToken, value = value }
            client.handlers['$/progress'](nil, progress, { client_id = client.id })
          end
          _G.finish = function(candidates)
            client.request = request
            handler(nil, { candidates = candidates, elapsedMs = 41.7 }, {})
          end
          return true, 4711
        end""")
    nvim.type("<M-p>")
    nvim.until(lambda: nvim.lua("return _G.send ~= nil"))
    nvim.lua("_G.send(1, '', 'open')")
    nvim.until(lambda: preview(nvim) == "al░")
    assert [line.rstrip() for line in nvim.list()] == [" 1 al░"]
    nvim.lua("_G.send(2, 'pha', 'open')")  # what it would say there now
    assert preview(nvim) == "alpha"
    assert [line.rstrip() for line in nvim.list()] == [" 1 al░"]
    nvim.type("<CR>")  # too early: nothing is inserted, and the list stays
    assert [line.rstrip() for line in nvim.list()] == [" 1 al░"]
    nvim.lua("_G.send(2, '\\0\\n', 'open')")  # which may be anything
    assert preview(nvim) == "al·\n"
    nvim.lua("_G.send(3, 'pha', 'fixed')")
    assert [line.rstrip() for line in nvim.list()] == [" 1 alpha"]
    nvim.lua("_G.finish({ { insertText = 'alphabet', confidence = 0.62 } })")
    assert preview(nvim) == "alphabet"
    assert [line.rstrip() for line in nvim.list()] == [" 1 alphabet  62 % · 42 ms"]
    nvim.type("<Tab>")
    nvim.until_marked("x = alphabet│")
