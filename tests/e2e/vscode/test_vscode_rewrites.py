"""Next edits of a model in a real VS Code: rewritten lines as a diff, late ones, and what the status says of them."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from driver.workbench import Workbench
from rewriting_server import (
    CHECK,
    CHECK_SLOWLY,
    EDITED,
    FIRST,
    IMPORTED,
    NAMED,
    NAMELESS,
    NEW,
    OLD,
    ORDERED,
    PROGRAM,
    SECONDS,
)
from test_vscode_next_edit import count, take, wait_for_count

SERVER = Path(__file__).parents[1] / "rewriting_server.py"
SENT = "sent"  # the file with all that VS Code sends
LATER = SECONDS + 1  # after which nothing comes any more
AT = PROGRAM.index(EDITED)
TEXT = PROGRAM[:AT] + "│" + PROGRAM[AT:]
ROW = PROGRAM[: PROGRAM.index(OLD)].count("\n")


@pytest.fixture(scope="module")
def own(scratch: Path) -> tuple[str, dict[str, Any]]:
    """A server whose engine proposes such edits."""
    path = scratch / "rewriting"
    path.write_text(f'#!/bin/sh\ntee -a {scratch / SENT} | {sys.executable} {SERVER} "$@"\n')
    path.chmod(0o755)
    return "rewriting", {"serverPath": str(path), "explicitBudgetMs": 5000}


@pytest.fixture
def code(code: Workbench) -> Iterator[Workbench]:
    """No document stays open."""
    yield code
    code.close()


def edit(code: Workbench, name: str, new: str) -> tuple[Path, str]:
    """Type an edit over the one that waits for it; the file, and the text then."""
    path = code.open(name, TEXT)
    code.press("Shift+End")
    code.type_text(new)
    return path, PROGRAM.replace(EDITED, new)


def stays_silent(code: Workbench) -> None:
    end = time.monotonic() + LATER
    while time.monotonic() < end:
        assert (count(code), code.preview()) == ("", "")


def asked(scratch: Path) -> int:
    """How often VS Code has asked for next edits."""
    return (scratch / SENT).read_bytes().count(b'"method":"infill/nextEdit"')


def test_rewritten_lines_are_drawn_as_a_diff(code: Workbench) -> None:
    edit(code, "drawn.py", CHECK)
    wait_for_count(code, 1)
    first, *others = [f"+ {line}".ljust(max(map(len, NEW.splitlines())) + 2) for line in NEW.splitlines()]
    drawn = "".join([first, "  change 4 lines (Tab)", *others])
    code.until(lambda: code.preview() == drawn, "the new lines", code.preview)
    assert code.marked() == (2 + 3, ["    try:", "check", "path", "    except OSError:", "        return 0"])
    code.picture("rewrite", {"x": 0, "y": 0, "width": 820, "height": 300})


def test_a_rewrite_is_gone_to_applied_and_undone_at_once(code: Workbench) -> None:
    path, edited = edit(code, "applied.py", CHECK)
    wait_for_count(code, 1)
    code.press("Tab")
    code.until(lambda: code.cursor() == f"Ln {ROW + 1}, Col 5", "the cursor in the lines", code.cursor)
    assert code.saved(path).decode() == edited
    code.press("Tab")
    wait_for_count(code, 0)
    assert code.saved(path).decode() == edited.replace(OLD, NEW)
    code.press("Control+z")
    assert code.saved(path).decode() == edited


def test_a_line_before_the_first_one_is_applied(code: Workbench) -> None:
    path, edited = edit(code, "ordered.py", ORDERED)
    wait_for_count(code, 1)
    assert code.preview() == "+ import collections  insert 1 line (Tab)"
    assert take(code, path) == edited.replace(FIRST, IMPORTED, 1)


def test_lines_are_removed(code: Workbench) -> None:
    path, edited = edit(code, "nameless.py", NAMELESS)
    wait_for_count(code, 1)
    assert (code.preview(), code.marked()) == ("  remove 1 line (Tab)", (2, []))
    assert take(code, path) == edited.replace(NAMED, "")


def test_what_is_found_late_is_shown(code: Workbench, scratch: Path) -> None:
    code.configure(explicitBudgetMs=50, budgetMs=50)
    code.open("late.py", TEXT)
    stays_silent(code)
    before = asked(scratch)
    code.press("Shift+End")
    code.browser.call("keyboard.insertText", CHECK_SLOWLY)  # one change
    wait_for_count(code, 1)
    assert asked(scratch) == before + 2


def test_what_is_found_late_is_not_shown_once_something_has_changed(code: Workbench) -> None:
    code.configure(explicitBudgetMs=50, budgetMs=50)
    edit(code, "changed.py", CHECK_SLOWLY)
    code.press("x")
    stays_silent(code)


def test_what_was_dismissed_stays_away(code: Workbench) -> None:
    edit(code, "dismissed.py", CHECK)
    wait_for_count(code, 1)
    code.press("Escape")
    wait_for_count(code, 0)
    code.press("Control+End")
    code.type_text("LIMIT")
    stays_silent(code)


def test_an_edit_of_the_lines_removes_the_diff(code: Workbench) -> None:
    edit(code, "removed.py", CHECK)
    wait_for_count(code, 1)
    code.press(*["ArrowDown"] * (ROW - PROGRAM[:AT].count("\n")), "End", "x")
    wait_for_count(code, 0)
    stays_silent(code)


def test_a_finished_file_stays_silent_while_the_cursor_moves_through_it(code: Workbench, scratch: Path) -> None:
    path, edited = edit(code, "finished.py", CHECK)
    wait_for_count(code, 1)
    code.press("Tab", "Tab")
    wait_for_count(code, 0)
    stays_silent(code)
    before = asked(scratch)
    code.press("Control+Home")
    for _ in edited.splitlines():
        code.press("ArrowDown", "End")
        assert (count(code), code.preview()) == ("", "")
    stays_silent(code)
    assert asked(scratch) == before
    assert code.saved(path).decode() == edited.replace(OLD, NEW)
    code.press("Control+z")  # what stays is repeated in the files of other tests
    assert code.saved(path).decode() == edited


def test_the_status_says_why_nothing_is_proposed_and_a_command_turns_it_on(code: Workbench) -> None:
    code.configure(nextEditModel=False)
    path, _ = edit(code, "status.py", CHECK)
    code.press_for_message("F5", "No next edit: everything still fits.")
    code.saved(path)
    code.command("Infill: Toggle Next Edits of the Model")
    wait_for_count(code, 1)
    code.command("Infill: Show Status")
    code.until(lambda: "next edits are on, those of the model too" in code.text(), "the status", code.text)
    code.close()


def test_errors_that_vscode_shows_are_told(code: Workbench, scratch: Path) -> None:
    code.open("wrong.json", '{\n    "one": 1,│\n    "two": 2\n}\n')
    code.press("Backspace")
    sent = scratch / SENT
    told = b'"errors":[{"line":2,"message":"Expected comma"}]'
    code.until(lambda: told in sent.read_bytes(), "the error", lambda: sent.read_bytes()[-300:])
