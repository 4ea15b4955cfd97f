"""A real Neovim with our plugin in it, typed into as a person does.

Texts hold a │ where the cursor is. What a test waits for has WAIT seconds; no test depends on how long it took.
"""

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from editor_setup import set_up

# What the engine of most tests says. It stands here, because several folders have a module `conftest`.
SCRIPT = {
    "rules": [
        {"before": "x = ", "candidates": ["alpha(1)", "beta(2, 3)", "gamma"]},
        {"before": "y = ", "candidates": ["other"]},
        {"before": "z = ", "candidates": ["table(1)", "tail(2)"]},
        {"before": "mid(", "candidates": ["first", "second"]},
        {"before": "'😀é' + ", "candidates": ["'ünï' + tail"]},
        {"before": "'שלום ' + ", "candidates": ["שם + '!'"]},
        {"before": "'你好' + ", "candidates": ["'世界'"]},
        {"before": "'👩‍👩‍👧' + ", "candidates": ["'👍🏽' + tail"]},
        {"before": "():\n    ", "candidates": ["one = 1\n    return one", "pass"]},
        {"before": "if w:\n", "candidates": ["    one()"]},
        {"before": "():\r\n    ", "candidates": ["one = 1\n    return one"]},
    ]
}
WAIT = 90
POLL = 0.01
CURSOR = "│"
REPOSITORY = Path(__file__).parents[3]
HOME = REPOSITORY / ".cache" / "e2e" / "nvim"
LUA = Path(__file__).with_name("lua")
INIT = LUA / "init.lua"
SERVER = [sys.executable, "-m", "lsp_server", "--stdio"]

# Neovim's own marks, so that a test does not ask the plugin what the plugin shows.
_MARKS = """
local namespace = vim.api.nvim_get_namespaces()[...]
local marks = namespace and vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true }) or {}
for _, mark in ipairs(marks) do
  if mark[4].virt_text then
    local lines = { mark[4].virt_text }
    vim.list_extend(lines, mark[4].virt_lines or {})
    return { mark[2], mark[3], lines }
  end
end
return nil
"""
_ATTACHED = """
local client = vim.lsp.get_clients({ bufnr = 0 })[1]
return client ~= nil and client.initialized
"""


class Editor:
    """One Neovim. Everything it keeps lies in `folder`."""

    def __init__(self, nvim: Any, folder: Path) -> None:
        self.nvim = nvim
        self.folder = folder

    # What is done.

    def lua(self, code: str, *arguments: Any) -> Any:
        return self.nvim.exec_lua(code, *arguments)

    def type(self, keys: str) -> None:
        """Keys in Neovim's notation, where < stands for itself as <lt>."""
        rest = keys
        while rest:
            rest = rest.encode()[self.nvim.input(rest) :].decode()

    def command(self, command: str) -> str:
        return str(self.nvim.api.exec2(command, {"output": True})["output"])

    def write(self, marked: str, name: str, newline: str = "\n") -> Path:
        path = self.folder / name
        path.write_bytes(marked.replace(CURSOR, "").replace("\n", newline).encode())
        return path

    def open(self, marked: str, name: str = "example.py", newline: str = "\n") -> None:
        """Open a file that holds the text, and begin to insert at its cursor."""
        self.command(f"edit {self.write(marked, name, newline)}")
        self.attached()
        self.insert_at(marked)

    def offered(self, marked: str, ghost: str, name: str = "example.py", newline: str = "\n") -> None:
        """Open a file in the same way, and wait for this ghost text."""
        self.open(marked, name, newline)
        self.until_ghost(ghost)

    def insert_at(self, marked: str) -> None:
        left = marked.split(CURSOR)[0].split("\n")
        line = marked.split("\n")[len(left) - 1].replace(CURSOR, "")
        column = len(left[-1].encode())
        self.nvim.current.window.cursor = (len(left), column)
        self.type("A" if left[-1] == line else "i")
        self.until(lambda: self.mode == "i")

    def rest_at(self, marked: str, name: str = "example.py") -> None:
        """Open a file that holds the text, and leave insert mode with the cursor at its place."""
        self.open(marked, name)
        self.type("<Esc>")
        self.until(lambda: self.mode == "n")
        left = marked.split(CURSOR)[0].split("\n")
        self.nvim.current.window.cursor = (len(left), len(left[-1].encode()))

    def attached(self) -> None:
        self.until(lambda: self.lua(_ATTACHED))

    def ready(self) -> None:
        """Wait for the engine."""
        self.until(lambda: self.state().get("state") not in (None, "loading"))

    def fresh(self) -> None:
        """Back to an editor without files and messages."""
        self.type("<Esc><Esc>")
        self.until(lambda: self.mode == "n")
        self.command("silent! tabonly! | silent! only! | enew! | silent! %bwipeout! | messages clear")
        for path in self.folder.glob("*.*"):
            path.unlink()

    # What is seen.

    @property
    def mode(self) -> str:
        return str(self.nvim.api.get_mode()["mode"])

    @property
    def text(self) -> str:
        return "\n".join(self.nvim.current.buffer[:])

    @property
    def marked(self) -> str:
        """The buffer with its cursor."""
        lines = list(self.nvim.current.buffer[:])
        row, column = self.nvim.current.window.cursor
        line = lines[row - 1].encode()
        lines[row - 1] = line[:column].decode() + CURSOR + line[column:].decode()
        return "\n".join(lines)

    @property
    def messages(self) -> list[str]:
        return [line for line in self.command("messages").split("\n") if line]

    def state(self) -> dict[str, Any]:
        return self.lua("return require('infill').state()") or {}

    def status(self) -> str:
        return str(self.lua("return require('infill').status()"))

    def mark(self, namespace: str = "nvim.lsp.inline_completion") -> tuple[int, int, str] | None:
        """Row, byte column and text of the ghost text; what Neovim adds such as (2/3) is a part of it."""
        found = self.lua(_MARKS, namespace)
        if found is None:
            return None
        lines = ["".join(chunk[0] for chunk in line) for line in found[2]]
        return found[0], found[1], "\n".join(lines)

    def ghost(self) -> str | None:
        mark = self.mark()
        return mark[2] if mark else None

    def list(self) -> list[str] | None:
        """The lines of the list of candidates; None when it is closed."""
        return self.lua("""
            for _, window in ipairs(vim.api.nvim_list_wins()) do
              if vim.api.nvim_win_get_config(window).relative ~= '' then
                return vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false)
              end
            end""")

    def until(self, holds: Callable[[], Any]) -> Any:
        """Wait until `holds()` is true; its value."""
        end = time.monotonic() + WAIT
        while not (value := holds()):
            if time.monotonic() > end:
                raise AssertionError(f"waited in vain; shown is {self.ghost()!r} in {self.marked!r}\n{self.messages}")
            time.sleep(POLL)
        return value

    def until_ghost(self, expected: str) -> None:
        self.until(lambda: self.ghost() == expected)

    def until_marked(self, expected: str) -> None:
        self.until(lambda: self.marked == expected)


Start = Callable[..., contextlib.AbstractContextManager[Editor]]


@contextlib.contextmanager
def editor(
    folder: Path, options: dict[str, Any] | None, script: dict[str, Any] | None = None, init: Path = INIT
) -> Iterator[Editor]:
    """A Neovim that has called setup() with the options; `script` is what the engine says. Ends it as a user does."""
    sys.path.insert(0, str(HOME / "python"))
    try:
        from pynvim import attach
    finally:
        sys.path.remove(str(HOME / "python"))
    if options is not None:
        options = {"cmd": SERVER, "settings": {}, **options}
        options["settings"] = {"showThreshold": 0, **options["settings"]}
        if script is not None:
            path = folder / "script"
            path.write_text(json.dumps(script), encoding="utf-8")
            options["settings"]["model"] = f"scripted:{path}"
    with _environment(folder, options):
        argv = [set_up(Path(__file__).parent), "--clean", "-u", str(init), "--embed", "--headless", "-n"]
        nvim = attach("child", argv=argv)
    started = Editor(nvim, folder)
    try:
        yield started
        assert not any("stack traceback" in message for message in started.messages), started.messages
    finally:
        with contextlib.suppress(OSError, EOFError):
            nvim.command("qall!")
        nvim.close()


def shared(options: dict[str, Any], script: dict[str, Any] | None = None) -> Any:
    """A fixture: one editor for all tests of a module, with its engine ready. As `running` it is what `nvim` gives."""

    @pytest.fixture(scope="module")
    def started_once(neovim: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
        with editor(tmp_path_factory.mktemp("nvim"), options, script) as started:
            started.open(CURSOR, "first.py")
            started.ready()
            yield started

    return started_once


@contextlib.contextmanager
def _environment(folder: Path, options: dict[str, Any] | None) -> Iterator[None]:
    """A child of pynvim has the environment of this process."""
    set_here = {
        **{f"XDG_{name}_HOME": str(folder) for name in ("CONFIG", "DATA", "STATE", "CACHE")},
        "INFILL_PLUGIN": str(REPOSITORY / "editors" / "nvim"),
        "INFILL_OPTIONS": None if options is None else json.dumps(options),
        "PYTHONPATH": str(REPOSITORY),
        "OMP_NUM_THREADS": "1",
        "NVIM": None,
        "VIMRUNTIME": None,
    }
    before = {name: os.environ.get(name) for name in set_here}
    here = Path.cwd()
    _set(set_here)
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(here)
        _set(before)


def _set(variables: dict[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
