"""Texts that the engine finds after the deadline, shown in a real Neovim."""

import sys
import time
from pathlib import Path

import pytest
from nvim_editor import Editor, Start, shared

SERVER = str(Path(__file__).parents[1] / "unhurried_server.py")
LATER = 1.5  # seconds, after which nothing comes any more


running = shared({"cmd": [sys.executable, SERVER]})


@pytest.fixture
def slow(nvim: Editor) -> Editor:
    nvim.open("│")
    return nvim


def stays(nvim: Editor, ghost: str | None) -> None:
    """From now on, nothing but this is shown."""
    end = time.monotonic() + LATER
    while time.monotonic() < end:
        assert nvim.ghost() == ghost
        time.sleep(0.05)


def test_what_is_found_late_is_shown_and_taken(slow: Editor) -> None:
    slow.type("late = ")
    slow.until(lambda: slow.status() == "infill silent: out of time")
    assert slow.ghost() is None
    slow.until_ghost("alpha(1)")
    slow.type("<Tab>")
    slow.until_marked("late = alpha(1)│")


def test_what_is_shown_is_continued_but_not_replaced(slow: Editor) -> None:
    slow.type("longer = ")
    slow.until_ghost("alpha(")
    slow.until_ghost("alpha(1)")
    slow.type("<Esc>oother = ")
    slow.until_ghost("alpha(1)")
    stays(slow, "alpha(1)")


@pytest.mark.parametrize("keys", ["<Left>", "<Esc>", "x", "<C-x><C-n>"])
def test_nothing_is_shown_once_something_has_changed(slow: Editor, keys: str) -> None:
    slow.command("set completeopt=menuone,noinsert")
    slow.type("alpha<CR>late = ")
    slow.until(lambda: slow.status() == "infill silent: out of time")
    slow.type(keys)
    stays(slow, None)


def test_what_was_dismissed_does_not_come_back(slow: Editor) -> None:
    slow.type("longer = ")
    slow.until_ghost("alpha(")
    slow.type("<C-]>")
    stays(slow, None)


def test_it_can_be_switched_off(start: Start) -> None:
    with start({"cmd": [sys.executable, SERVER], "settings": {"lateAnswers": False}}) as nvim:
        nvim.open("│")
        nvim.ready()
        nvim.type("late = ")
        nvim.until(lambda: nvim.status() == "infill silent: out of time")
        stays(nvim, None)
