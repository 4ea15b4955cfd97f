"""Alternatives to code in a real VS Code, through its own menu of code actions."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from driver.scripts_said import scripted
from driver.workbench import Workbench

RULES = [
    {"before": "if ", "candidates": ["size > limit", "size == limit", "limit <= size"]},
    {"before": "", "candidates": []},
]
FITS = "def fits(size):\n    if size >= limit:\n        return size + 1\n    return 0\n"
REWRITES = ["size > limit", "size == limit", "limit <= size"]
ROW = ".action-widget .monaco-list-row.action .title"


@pytest.fixture(scope="module")
def own(scratch: Path) -> tuple[str, dict[str, Any]]:
    """A model that knows other conditions."""
    model = scripted(scratch, "alternatives", rules=RULES)
    return "alternatives.json", {"model": model, "explicitBudgetMs": 20_000}


@pytest.fixture
def code(code: Workbench) -> Iterator[Workbench]:
    """No menu stays open."""
    yield code
    code.press("Escape")


def open_menu(code: Workbench, title: str) -> list[str]:
    """Open the menu of code actions and wait until an action begins with `title`. Return the titles of all."""

    def is_open() -> bool:
        return any(row.startswith(title) for row in code.texts(ROW))

    code.press_until("Control+.", is_open)
    code.until(is_open, title, lambda: code.texts(ROW))
    return code.texts(ROW)


def test_the_third_alternative_to_a_condition_is_taken_and_undone_at_once(code: Workbench) -> None:
    path = code.open("fits.py", FITS.replace("if size >=", "if size │>="))
    rows = open_menu(code, "Rewrite condition")
    assert [row.split(" [")[0] for row in rows][:3] == [f"Rewrite condition: {text}" for text in REWRITES]
    code.press("ArrowDown", "ArrowDown", "Enter")
    code.until(lambda: "limit <= size" in code.text(), "the third one taken", code.text)
    assert code.saved(path).decode() == FITS.replace("size >= limit", "limit <= size")
    code.press("Control+z")
    code.until(lambda: "size >= limit" in code.text(), "the condition as it was", code.text)
    assert code.saved(path).decode() == FITS


def test_a_broken_line_is_fixed(code: Workbench) -> None:
    path = code.open("broken.py", FITS.replace("if size >= limit:", "if size │>= limit"))
    assert open_menu(code, "Fix line")[0].startswith("Fix line: if size >= limit:")
    code.press("Enter")
    code.until(lambda: "if size >= limit:" in code.text(), "the line mended", code.text)
    assert code.saved(path).decode() == FITS
