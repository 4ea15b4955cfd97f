"""Notebooks in VS Code."""

import json
from pathlib import Path

from driver.workbench import Workbench

CELL_LINE = ".notebookOverlay .view-line"


def test_a_notebooks_cell(code: Workbench) -> None:
    path = open_notebook(code, "cells.ipynb", "import os\nos.getcwd()", "x =")
    code.type_text(" ")
    code.wait_for_ghost("below(1)")  # which is what follows the cell above
    code.press("Tab")
    code.type_text("\njoin(")
    code.wait_for_ghost("left, right")
    code.press("Control+Alt+Enter")
    code.until(lambda: code.preview() == "left, right", "a preview", code.preview)
    code.press("ArrowDown")
    code.until(lambda: code.preview() == "left", "the second one in place", code.preview)
    code.press("Enter")
    code.until(lambda: "join(left" in code.texts(CELL_LINE), "the choice in the text")
    assert sources(code.saved(path)) == ["import os\nos.getcwd()", "x = below(1)\njoin(left"]


def test_a_new_cell(code: Workbench) -> None:
    path = open_notebook(code, "new.ipynb", "import os\nos.getcwd()")
    code.command("Notebook: Insert Code Cell Below")
    code.type_text("x = ")
    code.wait_for_ghost("below(1)")
    code.press("Tab")
    assert sources(code.saved(path)) == ["import os\nos.getcwd()", "x = below(1)"]


def test_what_stands_in_another_cell_is_known(code: Workbench) -> None:
    code.configure(model="default", showThreshold=0)
    code.wait_for_model("retrieval")
    path = open_notebook(code, "default.ipynb", "import os\nresult = compute_the_thing(alpha, beta)\n", "x = 1")
    code.type_text("\nresult = compute_the_")
    code.until(lambda: code.ghost().startswith("thing("), "what the other cell has", code.ghost)
    assert sources(code.saved(path))[1] == "x = 1\nresult = compute_the_"


def open_notebook(code: Workbench, name: str, *cells: str) -> Path:
    """Write a notebook of Python cells and open it with the cursor at the end of the last one."""
    path = code.folder / name
    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    language = {"language_info": {"name": "python"}}
    written = [{**cell, "id": f"cell-{number}", "source": text} for number, text in enumerate(cells)]
    path.write_text(json.dumps({"cells": written, "metadata": language, "nbformat": 4, "nbformat_minor": 5}))
    code.close()
    code.show(path)
    code.browser.call("click", f"{CELL_LINE}:has-text('{cells[-1].splitlines()[-1]}')")
    code.press("Control+End")
    return path


def sources(notebook: bytes) -> list[str]:
    """The text of each cell."""
    return ["".join(cell["source"]) for cell in json.loads(notebook)["cells"]]
