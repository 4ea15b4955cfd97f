"""Plugins of others, unmodified, against our HTTP server.

INFILL_LLAMA_VIM, INFILL_MINUET and INFILL_CURSORTAB name folders that hold the code of ggml-org/llama.vim, of
milanglacier/minuet-ai.nvim, and of cursortab/cursortab.nvim with its server built.
"""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from http_server import Server, serving
from nvim_editor import LUA, Editor, editor

SCRIPT = {
    "rules": [
        {"before": "x = ", "candidates": ["alpha(1)", "beta(2, 3)", "gamma"]},
        {"before": "😀é = ", "candidates": ["'ünï'"]},
        {"before": "():\n    ", "candidates": ["one = 1\n    return one"]},
        {"before": "():\n", "candidates": ["    one = 1\n    return one"]},
    ]
}
RETYPE_SECONDS = 3
IDLE_SECONDS = 0.5  # after which cursortab looks at a text
KEY = "a-key-of-somebody"


@pytest.fixture
def http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    keys = tmp_path / "keys"
    keys.write_text(KEY)
    keys.chmod(0o600)
    folder = tmp_path / "server"
    folder.mkdir()
    with serving(folder, "--api-key-file", str(keys), script=SCRIPT) as server:
        server.ready()
        monkeypatch.setenv("INFILL_URL", server.url)
        monkeypatch.setenv("INFILL_KEY", KEY)
        monkeypatch.setenv("TERM", KEY)  # where minuet's README has it look for a key that nobody needs
        yield server


def plugin(variable: str, repository: str) -> None:
    if not os.environ.get(variable):
        pytest.skip(f"{variable} names no folder with {repository}")


@pytest.fixture
def llama(neovim: str, http: Server, tmp_path: Path) -> Iterator[Editor]:
    plugin("INFILL_LLAMA_VIM", "ggml-org/llama.vim")
    with editor(tmp_path, None, init=LUA / "llama.lua") as started:
        yield started
        assert not [message for message in started.messages if "failed" in message or "Error" in message]


def shown(nvim: Editor) -> str | None:
    """llama.vim's ghost text, which repeats the text right of the cursor and ends with figures."""
    mark = nvim.mark("vt_fim")
    return None if mark is None else mark[2].partition("    |")[0]


def metrics(http: Server) -> str:
    return http.get("/metrics", {"Authorization": f"Bearer {KEY}"}).body.decode()


def open_file(nvim: Editor, marked: str, name: str = "example.py") -> None:
    nvim.command(f"edit {nvim.write(marked, name)}")
    nvim.insert_at(marked)


def test_llama_vim(llama: Editor, http: Server) -> None:
    open_file(llama, "x =│\n")
    llama.type(" ")
    llama.until(lambda: shown(llama) == "alpha(1)")
    assert "| p: " in llama.mark("vt_fim")[2]  # the figures of the request
    llama.type("<Tab>")
    llama.until_marked("x = alpha(1)│")

    llama.type("<Esc>")
    open_file(llama, "# ünï 😀\n😀é =│\ny = 2\n", "unicode.py")
    llama.type(" ")
    llama.until(lambda: shown(llama) == "'ünï'")
    llama.type("<Tab>")
    llama.until_marked("# ünï 😀\n😀é = 'ünï'│\ny = 2")

    assert 'status="4' not in metrics(http)


def test_llama_vim_announces_what_tells_the_language(llama: Editor, http: Server) -> None:
    text = "import os\n\n\ndef f():│\n"
    llama.command(f"edit {llama.write(text, 'lines.py')}")
    llama.until(lambda: 'path="/infill",status="200"' in metrics(http))
    llama.insert_at(text)
    llama.type("<CR>")
    llama.until(lambda: shown(llama) == "one = 1")
    llama.type("<Tab>")
    llama.until_marked("import os\n\n\ndef f():\n    one = 1\n    return one│")
    assert 'status="4' not in metrics(http)


@pytest.mark.parametrize("template", [False, True])
def test_minuet(neovim: str, http: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, template: bool) -> None:
    plugin("INFILL_MINUET", "milanglacier/minuet-ai.nvim")
    if template:
        monkeypatch.setenv("INFILL_TEMPLATE", "1")
    with editor(tmp_path, None, init=LUA / "minuet.lua") as nvim:
        open_file(nvim, "y = 1\nx =│\nz = 2\n")
        nvim.type(" ")
        # It asks at most once a second, and deletes what it sends when the first of three answers comes: on a busy
        # machine, that is too soon. A user would go on typing.
        retyped = time.monotonic()

        def offered() -> bool:
            nonlocal retyped
            if time.monotonic() > retyped + RETYPE_SECONDS:
                retyped = time.monotonic()
                nvim.type("<BS> ")
            return (nvim.mark("minuet.virtualtext") or (0, 0, ""))[2].startswith("alpha(1)")

        nvim.until(offered)
        nvim.type("<C-l>")
        nvim.until_marked("y = 1\nx = alpha(1)│\nz = 2")
        assert not [message for message in nvim.messages if "failed" in message]


SHAPES = "def area(│width, height):\n    return width * height\n"


@pytest.fixture(params=["sweep", "zeta-2", "mercuryapi"])
def cursortab(
    neovim: str, http: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Editor]:
    plugin("INFILL_CURSORTAB", "cursortab/cursortab.nvim, with its server built")
    monkeypatch.setenv("INFILL_PROVIDER", request.param)
    with editor(tmp_path, None, init=LUA / "cursortab.lua") as started:
        yield started
        assert not re.search(r'completions",status="40', metrics(http))  # 499: it has left, to ask again


def open_in_a_window(nvim: Editor, marked: str) -> None:
    """cursortab looks at a buffer's file type only when it enters it; `edit` would go on with the first, empty one.

    Edits count from when it has looked at the text.
    """
    nvim.command(f"split {nvim.write(marked, 'example.py')}")
    nvim.insert_at(marked)
    log = nvim.folder / "nvim" / "cursortab" / "cursortab.log"

    def seen() -> bool:
        nvim.type("<Left>" if nvim.marked.strip("\n") == marked.strip("\n") else "<Right>")
        time.sleep(IDLE_SECONDS)
        return log.exists() and "no recent edits" in log.read_text()

    nvim.until(seen)
    nvim.type("<Esc>")
    nvim.insert_at(marked)


def is_offered(nvim: Editor) -> bool:
    return bool(nvim.lua("return require('cursortab.ui').has_completion()"))


def test_cursortab_completes(cursortab: Editor) -> None:
    open_in_a_window(cursortab, "y = 1\nx =│\nz = 2\n")
    cursortab.type(" ")
    cursortab.until(lambda: is_offered(cursortab))
    cursortab.type("<Tab>")
    cursortab.until(lambda: cursortab.text == "y = 1\nx = alpha(1)\nz = 2")


def test_cursortab_makes_the_next_edit(cursortab: Editor) -> None:
    open_in_a_window(cursortab, SHAPES)
    cursortab.type("<Esc>lcww<Esc>")
    cursortab.until(lambda: is_offered(cursortab))
    cursortab.type("<Tab>")
    cursortab.until(lambda: cursortab.text == "def area(w, height):\n    return w * height")
