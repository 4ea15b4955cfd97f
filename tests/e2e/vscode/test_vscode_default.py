"""The default model in a real VS Code, with the default settings and on the clock: the pictures in the README.

Runs only with INFILL_E2E_SCREENSHOTS=1, with nothing else running: what the model proposes in time depends on the
machine. `test_vscode_model_edits` tests the default model without a deadline.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from driver.workbench import Workbench
from test_vscode import STATUS
from test_vscode_alternatives import open_menu

BOXES = """\
from dataclasses import dataclass


@dataclass
class Box:
    width: float
    height: float
    depth: float


def area(width: float, height: float) -> float:
    return width * height


def volume(box: Box) -> float:
    return area│) * box.depth
"""
FITS = "def fits(size, limit):\n    if size │>= limit:\n        return size + 1\n    return 0\n"
REPOSITORY = Path(__file__).parents[3]

pytestmark = pytest.mark.skipif(os.environ.get("INFILL_E2E_SCREENSHOTS") != "1", reason="pictures are taken on demand")


@pytest.fixture(scope="module")
def server(scratch: Path) -> str:
    """An executable that runs this checkout, with its weights."""
    path = scratch / "with-weights"
    run = f'PYTHONPATH={REPOSITORY}:$PYTHONPATH exec {sys.executable} -m lsp_server "$@"'
    path.write_text(f"#!/bin/sh\n{run}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def default(code: Workbench, server: str, settings: dict[str, Any]) -> Iterator[Workbench]:
    """The workbench with the default model.

    The server without weights is never asked for it: it would offer to download them, once for all tests.
    """
    code.configure(serverPath=server)
    code.wait_for_model("example.json")
    code.configure(model="default", budgetMs=None, explicitBudgetMs=None)
    code.wait_for_model("default")
    yield code
    code.close()
    code.configure({**settings, "serverPath": server})
    code.wait_for_model("example.json")


def test_two_arguments_are_filled_in_and_picked_from_the_list(default: Workbench) -> None:
    path = default.offered("boxes.py", BOXES, "(", "box.width, box.height")
    default.picture("ghost", {"x": 0, "y": 0, "width": 620, "height": 350})
    default.press("Control+Alt+Enter")
    default.until(lambda: len(default.rows()) > 1, "several candidates", default.rows)
    default.until(lambda: default.preview() == "box.width, box.height", "the first one in place", default.preview)
    default.press("ArrowDown")
    default.until(lambda: default.preview() not in ("", "box.width, box.height"), "another one", default.preview)
    second = default.preview()
    default.picture("pick", {"x": 0, "y": 0, "width": 820, "height": 350})
    default.press("Enter")
    default.until(lambda: not default.rows() and default.preview() == "", "the list to close", default.preview)
    assert default.saved(path).decode() == BOXES.replace("│", f"({second}")


def test_the_menu_names_the_model_and_the_time_of_the_last_answer(default: Workbench) -> None:
    default.offered("menu.py", BOXES, "(", "box.width, box.height")
    default.browser.call("click", STATUS)
    default.until(lambda: any("Switch Off for python" in row for row in default.rows()), "the menu", default.rows)
    assert default.title().startswith("Ready: default on ")
    default.picture("menu", {"x": 180, "y": 0, "width": 640, "height": 320})
    default.press("Escape")


def test_a_condition_is_written_otherwise(default: Workbench) -> None:
    path = default.open("fits.py", FITS)
    assert open_menu(default, "Rewrite condition")[0].startswith("Rewrite condition: ")
    default.picture("alternatives", {"x": 0, "y": 30, "width": 760, "height": 170})
    default.press("Enter")
    before = FITS.replace("│", "")
    default.until(lambda: "size >= limit" not in default.text(), "another condition", default.text)
    assert default.saved(path).decode() != before
    default.press("Control+z")
    default.until(lambda: "size >= limit" in default.text(), "the condition as it was", default.text)
    assert default.saved(path).decode() == before
