"""Several buffers and windows, other line ends, slow and dying engines, the status line, and messages."""

import re
from pathlib import Path

import pytest
from nvim_editor import REPOSITORY, SERVER, Editor, Start
from prepared_models import share_prepared

PLUGIN = REPOSITORY / "editors" / "nvim"
WEIGHTS = REPOSITORY / "infill_engine" / "weights" / "trunk" / "model.safetensors.index.json"


def test_two_buffers_in_two_windows(nvim: Editor) -> None:
    nvim.offered("y = │", "other", "right.py")
    nvim.type("<Esc>:vsplit<CR>")
    nvim.offered("x = │", "alpha(1)", "left.py")
    nvim.type("<Esc><C-w>lA")
    nvim.until_ghost("other")
    nvim.type("<Tab>")
    nvim.until_marked("y = other│")
    nvim.type("<Esc><C-w>hA")
    nvim.until_ghost("alpha(1)")
    nvim.type("<Tab>")
    nvim.until_marked("x = alpha(1)│")


def test_one_buffer_in_two_windows(nvim: Editor) -> None:
    nvim.open("x = │\ny = ")
    nvim.type("<Esc>:split<CR>")
    nvim.type("GA")
    nvim.until_ghost("other")
    nvim.type("<Esc><C-w>jggA")
    nvim.until_ghost("alpha(1)")
    nvim.type("<Tab>")
    nvim.until_marked("x = alpha(1)│\ny = ")


def test_a_buffer_left_before_the_answer_shows_nothing_of_it(nvim: Editor) -> None:
    nvim.offered("y = │", "other", "first.py")
    nvim.type("<Esc>")
    nvim.open("│", "second.py")
    nvim.type("x = <Esc>:buffer first.py<CR>A")
    nvim.until_ghost("other")
    nvim.type("<Tab>")
    nvim.until_marked("y = other│")


def test_a_project_is_announced_once_and_a_loose_file_is_in_none(nvim: Editor, tmp_path_factory) -> None:
    folders = "return vim.tbl_map(vim.uri_to_fname, vim.tbl_map(function(f) return f.uri end, "
    folders += "vim.lsp.get_clients()[1].workspace_folders or {}))"
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "loose.py").write_text("x = ")
    nvim.command(f"edit {elsewhere / 'loose.py'}")
    nvim.type("A")
    nvim.until_ghost("alpha(1)")
    assert nvim.lua(folders) == [str(nvim.folder)]  # of the empty buffer that it began with
    nvim.type("<Esc>")
    nvim.command("write")
    project = elsewhere / "project"
    project.mkdir()
    (project / "pyproject.toml").touch()
    for name in ("a.py", "b.py"):
        (project / name).write_text("x = ")
        nvim.command(f"edit {project / name}")
        nvim.until(lambda: nvim.lua(folders) == [str(nvim.folder), str(project)])


def test_the_home_folder_is_no_project(nvim: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    home = nvim.folder / "home"
    (home / ".git").mkdir(parents=True)
    (home / "project").mkdir()
    for name in ("a.py", "project/b.py"):
        (home / name).write_text("x = ")
        nvim.command(f"edit {home / name}")
        root = "return require('infill.server').root(0) or 'none'"
        assert nvim.lua(root) == str(home)
        nvim.lua(f"vim.env.HOME = '{home}'")
        assert nvim.lua(root) == "none"
        nvim.lua(f"vim.env.HOME = '{nvim.folder}'")


def test_carriage_returns_stay_at_the_line_ends(nvim: Editor) -> None:
    nvim.open("def f():\n    │\n\n\nprint(1)\n", newline="\r\n")
    assert nvim.command("set fileformat?").strip() == "fileformat=dos"
    nvim.until_ghost("one = 1\n    return one")
    nvim.type("<Tab>")
    nvim.until_marked("def f():\n    one = 1\n    return one│\n\n\nprint(1)")
    nvim.command("write")
    written = Path(nvim.lua("return vim.api.nvim_buf_get_name(0)")).read_bytes()
    assert written == b"def f():\r\n    one = 1\r\n    return one\r\n\r\n\r\nprint(1)\r\n"


def test_files_that_cannot_be_changed_are_left_alone(nvim: Editor) -> None:
    path = nvim.write("x = ", "locked.py")
    nvim.command(f"view {path}")
    nvim.command("split | enew | setlocal buftype=nofile | setfiletype python")
    nvim.open("x = │", "open.py")
    attached = nvim.lua("return vim.tbl_keys(vim.lsp.get_clients()[1].attached_buffers)")
    assert attached == [nvim.lua("return vim.api.nvim_get_current_buf()")]
    nvim.command("buffer locked.py")
    assert nvim.status() == ""


def test_a_file_made_read_only_is_left_alone_from_then_on(nvim: Editor) -> None:
    nvim.offered("x = │", "alpha(1)")
    nvim.command("inoremap <Tab> ⇥")
    nvim.lua(COUNT_SENT)
    nvim.command("setlocal readonly")
    assert nvim.command("Infill").strip() == "infill leaves this buffer alone: it is read-only"
    nvim.type("<Tab>")
    nvim.until_marked("x = ⇥│")
    nvim.type("<CR>y = ")
    nvim.until(lambda: nvim.lua("return _G.sent ~= nil"))
    assert (nvim.lua("return _G.sent"), nvim.ghost()) == (0, None)
    nvim.command("setlocal noreadonly")
    nvim.type("<CR>x = ")
    nvim.until_ghost("alpha(1)")
    nvim.type("<Esc>")
    nvim.command("iunmap <Tab>")


# How many requests are on their way once Neovim has asked for inline completion in the line.
COUNT_SENT = """
local completor = vim.lsp._capability.all.inline_completion.active[vim.api.nvim_get_current_buf()]
local request = completor.request
completor.request = function(...)
  request(...)
  if vim.api.nvim_get_current_line() == 'y = ' then
    _G.sent = vim.tbl_count(vim.lsp.get_clients()[1].requests)
  end
end
"""


def test_a_second_setup_sets_the_keys_anew(start: Start) -> None:
    with start({}, {"rules": [{"before": "x = ", "candidates": ["alpha(1)"]}]}) as nvim:
        nvim.command("autocmd BufEnter *.py inoremap <buffer> <Tab> ⇥")
        nvim.offered("x = │", "alpha(1)")
        nvim.type("<M-p>")
        nvim.until(lambda: nvim.list())
        nvim.lua("require('infill').setup({ cmd = ..., keys = { accept = '<C-y>' } })", SERVER)
        assert nvim.list() is None
        nvim.type("<Tab><BS>")
        nvim.until_ghost("alpha(1)")
        assert nvim.marked == "x = │"
        nvim.type("<C-y>")
        nvim.until_marked("x = alpha(1)│")
        nvim.type("<Tab>")
        nvim.until_marked("x = alpha(1)⇥│")


def test_words_come_from_the_server_and_an_older_one_sends_none(nvim: Editor) -> None:
    nvim.offered("x = │", "alpha(1)")
    tell = "require('infill.status').told(vim.lsp.get_clients({ name = 'infill_ls' })[1].id, ...)"
    explanation = {"words": "only one character", "sentence": "It is a single character."}
    nvim.lua(tell, {"state": "ready", "reason": "one_key", "explanation": explanation})
    assert nvim.status() == "infill silent: only one character"
    lines = nvim.lua("return require('infill.status').lines()")
    assert lines[1] == "It is a single character. `:Infill pick` lists it."
    nvim.lua(tell, {"state": "ready", "reason": "one_key"})
    assert nvim.status() == "infill silent: one_key"
    nvim.lua(tell, {"state": "ready"})
    assert nvim.status() == "infill ready"


def test_switching_off_and_on(nvim: Editor) -> None:
    nvim.offered("x = │", "alpha(1)")
    nvim.command("Infill toggle-language")
    nvim.until_ghost(None)
    nvim.until(lambda: nvim.status() == "infill silent: switched off here")
    nvim.command("Infill toggle-language")
    nvim.until_ghost("alpha(1)")
    nvim.command("Infill toggle")
    nvim.until_ghost(None)
    nvim.until(lambda: nvim.status() == "infill off")
    nvim.command("Infill toggle")
    nvim.until_ghost("alpha(1)")
    assert nvim.status() == "infill ready"


def test_commands(nvim: Editor) -> None:
    nvim.offered("x = │", "alpha(1)")
    assert nvim.command("Infill").startswith("infill ready\nmodel scripted:")
    assert re.match(r"shown \d+, accepted \d+", nvim.command("Infill stats"))
    nvim.type("<Esc>")
    nvim.command("Infill log")
    assert nvim.lua("return vim.api.nvim_buf_get_name(0)").endswith("lsp.log")
    assert nvim.lua("return vim.fn.getcompletion('Infill to', 'cmdline')") == [
        "toggle",
        "toggle-language",
        "toggle-next-edit-model",
        "toggle-next-edits",
    ]


def test_health_and_help(nvim: Editor) -> None:
    nvim.open("x = │")
    nvim.ready()
    nvim.type("<Esc>")
    nvim.command("checkhealth infill")
    assert not re.search(r"ERROR|WARNING", nvim.text), nvim.text
    assert "The engine is ready" in nvim.text
    help_file = nvim.folder / "doc" / "infill.txt"
    help_file.parent.mkdir(exist_ok=True)
    help_file.write_bytes((PLUGIN / "doc" / "infill.txt").read_bytes())
    nvim.command(f"helptags {help_file.parent}")
    tags = help_file.with_name("tags").read_text()
    for name in ("infill.txt", ":Infill", "infill-setup", "infill-keys", "infill-settings", "infill.status()"):
        assert f"{name}\t" in tags
    # It comes with the plugin: this is a folder of a repository, for which plugin managers make none.
    assert (PLUGIN / "doc" / "tags").read_text() == tags, "run :helptags editors/nvim/doc"


def test_an_older_neovim_is_told(start: Start) -> None:
    with start() as nvim:
        nvim.lua("""
            local has = vim.fn.has
            vim.fn.has = function(feature) return feature == 'nvim-0.12' and 0 or has(feature) end
            require('infill').setup()""")
        nvim.until(lambda: any("Neovim 0.12 or newer is needed" in message for message in nvim.messages))


def test_wrong_options_are_told_and_left_out(start: Start) -> None:
    options = {"cmd": SERVER, "picker": 3, "kyes": {}, "keys": {"accept": "<C-y>", "leap": "x"}}
    with start(options, {"rules": [{"before": "x = ", "candidates": ["alpha(1)"]}]}) as nvim:
        for part in ("option picker is a number", "unknown option kyes", "unknown key leap"):
            assert sum(part in message for message in nvim.messages) == 1, nvim.messages
        nvim.offered("x = │", "alpha(1)")
        nvim.type("<C-y>")
        nvim.until_marked("x = alpha(1)│")


def test_without_setup_neovims_own_functions_work(start: Start) -> None:
    configure = "vim.lsp.config('infill_ls', { cmd = ..., init_options = { model = 'scripted' } })"
    with start() as nvim:
        nvim.lua(configure, SERVER)
        nvim.lua("vim.lsp.enable('infill_ls') vim.lsp.inline_completion.enable()")
        nvim.open("x = │")
        nvim.ready()
        assert nvim.lua("return vim.fn.maparg('<M-w>', 'i')") == ""


@pytest.mark.skipif(not WEIGHTS.is_file(), reason="the default model is not in this checkout")
def test_the_default_model(start: Start, tmp_path: Path) -> None:
    share_prepared(tmp_path / "infill-ls" / "prepared")
    marked = "def area(width, height):\n    return width * height\n\n\narea_of_a_square = area(width, │)\n"
    with start({"settings": {"model": "default", "budgetMs": 5000}}) as nvim:
        nvim.open(marked)
        nvim.ready()
        assert nvim.state()["model"] == "default"
        nvim.type("<M-p>")
        nvim.until(lambda: nvim.list() and nvim.list()[0].endswith("ms "))
        shown = nvim.mark("infill.preview")[2]
        assert shown
        nvim.type("<CR>")
        nvim.until_marked(marked.replace("│", shown + "│").rstrip("\n"))
