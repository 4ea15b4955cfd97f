"""Next edits of the default model itself, in a real VS Code: found, taken, undone, and absent where all is done."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from driver.workbench import Workbench
from prepared_models import share_prepared
from test_vscode_next_edit import count, wait_for_count

import infill_engine

WEIGHTS = Path(infill_engine.__file__).with_name("weights") / "trunk"
MINUTE = 60_000  # milliseconds: these tests do not depend on the speed of the machine
OLD, NEW = 'print("starting", source)', 'logger.info("starting %s", source)'
FOLLOWS, FOLLOWED = 'print("skipping", item)', 'logger.info("skipping %s", item)'
TEXT = f"""\
import logging

logger = logging.getLogger(__name__)


def sync(source, target):
    {OLD}│
    for item in source:
        if item in target:
            {FOLLOWS}
            continue
        target.add(item)
"""
FINISHED = """\
import express from "express";

const app = express();

app.get("/", (request, response) => response.send("hello│"));
app.listen(3000);
"""


@pytest.fixture(scope="module")
def prepared(scratch: Path) -> None:
    share_prepared(scratch / "home" / ".cache" / "infill-ls" / "prepared")


@pytest.fixture
def trained(code: Workbench, prepared: None) -> Iterator[Workbench]:
    """The workbench with the default model, from the repository's own weights."""
    code.configure(model=str(WEIGHTS), explicitBudgetMs=MINUTE)
    code.wait_for_model("trunk")
    yield code
    code.close()


def test_one_call_is_rewritten_and_the_next_one_follows(trained: Workbench) -> None:
    path = trained.open("sync.py", TEXT)
    trained.press("Shift+Home")
    trained.type_text(NEW)
    wait_for_count(trained, 2)  # two parts of one line, by tokens
    edited = TEXT.replace("│", "").replace(OLD, NEW)
    trained.press("Tab", "Tab")
    wait_for_count(trained, 0)
    assert trained.saved(path).decode() == edited.replace(FOLLOWS, FOLLOWED)
    trained.press("Control+z")
    assert trained.saved(path).decode() == edited


def test_a_finished_file_stays_silent_while_the_cursor_moves_through_it(trained: Workbench) -> None:
    trained.open("index.js", FINISHED)
    trained.type_text(", world")
    trained.steady()
    for key in ("ArrowDown", "Control+Home", "ArrowDown", "Control+End"):
        trained.press(key)
        trained.steady()
        assert count(trained) == ""
