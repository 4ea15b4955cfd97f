"""folke/sidekick.nvim, unmodified, against our server. INFILL_SIDEKICK names a folder that holds its code."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from nvim_editor import LUA, SERVER, Editor, editor

TEXT = "def f(│size, b):\n    return size + b\n\n\nf(size=1, b=2)\n"
RENAMED = "def f(width, b):\n    return width + b\n\n\nf(width=1, b=2)"


@pytest.fixture
def sidekick(neovim: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Editor]:
    if not os.environ.get("INFILL_SIDEKICK"):
        pytest.skip("INFILL_SIDEKICK names no folder with folke/sidekick.nvim")
    monkeypatch.setenv("INFILL_SERVER", json.dumps(SERVER))
    with editor(tmp_path, None, init=LUA / "sidekick.lua") as started:
        yield started


def edits(nvim: Editor) -> int:
    return int(nvim.lua("return #require('sidekick.nes').get()"))


def test_sidekick_shows_applies_and_goes_on(sidekick: Editor) -> None:
    nvim = sidekick
    nvim.open(TEXT)
    nvim.type("<Esc>")
    nvim.until(lambda: nvim.mode == "n")
    nvim.nvim.current.window.cursor = (1, 6)
    nvim.type("ciwwidth<Esc>")
    nvim.until(lambda: edits(nvim) == 2)

    def applied() -> bool:
        nvim.lua("require('sidekick').nes_jump_or_apply()")
        return nvim.text == RENAMED

    nvim.until(applied)
    nvim.until(lambda: edits(nvim) == 0)
    assert not [message for message in nvim.messages if "infill.nextEdit" in message]
