"""Texts that the engine finds after the deadline, shown in a real VS Code. The engine is a stand-in."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from driver.workbench import Workbench

SERVER = Path(__file__).parents[1] / "unhurried_server.py"
LATER = 1.5  # seconds, after which nothing comes any more


@pytest.fixture(scope="module")
def own(scratch: Path) -> tuple[str, dict[str, Any]]:
    """The server with that engine."""
    path = scratch / "unhurried"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} {SERVER} "$@"\n')
    path.chmod(0o755)
    return "unhurried", {"serverPath": str(path), "showThreshold": 0}


@pytest.fixture
def slow(code: Workbench) -> Iterator[Workbench]:
    """No document stays open."""
    yield code
    code.close()


def stays(code: Workbench, ghost: str) -> None:
    """From now on, nothing but this is shown."""
    end = time.monotonic() + LATER
    while time.monotonic() < end:
        assert code.ghost() == ghost


def test_what_is_found_late_is_shown_and_taken(slow: Workbench) -> None:
    path = slow.offered("late.py", "late =│\n", " ", "alpha(1)")
    slow.press("Tab")
    assert slow.saved(path) == b"late = alpha(1)\n"


def test_what_is_shown_is_continued_but_not_replaced(slow: Workbench) -> None:
    path = slow.offered("longer.py", "longer =│\n", " ", "alpha(1)")
    slow.press("Tab")
    assert slow.saved(path) == b"longer = alpha(1)\n"
    slow.offered("other.py", "other =│\n", " ", "alpha(1)")
    stays(slow, "alpha(1)")


@pytest.mark.parametrize("key", ["ArrowLeft", "x"])
def test_nothing_is_shown_once_something_has_changed(slow: Workbench, key: str) -> None:
    slow.open("changed.py", "late =│\n")
    slow.type_text(" ")
    slow.wait_for_status("Infill: out of time")
    slow.press(key)
    stays(slow, "")


def test_it_can_be_switched_off(slow: Workbench) -> None:
    slow.configure(lateAnswers=False)
    slow.open("off.py", "late =│\n")
    slow.type_text(" ")
    slow.wait_for_status("Infill: out of time")
    stays(slow, "")
