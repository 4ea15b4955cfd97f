"""Several windows, several folders in one, and one whose authors are not trusted. Servers stand in for infill-ls."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from driver.stand_in import log_of, program, starts
from driver.workbench import Workbench


@pytest.fixture(scope="module")
def first(fresh: Workbench, offer: str) -> Iterator[Workbench]:
    """The first window, which waits for a server to be installed."""
    current = fresh.environments / "current"
    away = current.rename(current.with_suffix(".away"))
    fresh.command("Infill: Restart Engine")
    fresh.wait_for_status("Infill: install")
    yield fresh
    away.rename(current)


def test_two_windows_on_one_folder(first: Workbench) -> None:
    second = first.another(f"folder={first.folder}", first.folder)
    second.wait_for_status("Infill: install")
    # What is installed from one window serves the other as well.
    python = program(first.environments / "env-stand-in" / "bin" / "python", says="installed")
    (first.environments / "current").write_text("env-stand-in")
    for window in (first, second):
        window.wait_for_model("installed")
    assert starts(python) == 2
    path = first.offered("shared.py", "x =│\n", " ", "installed")
    second.go_to(path, 1, 4)
    second.type_text(" ")
    second.wait_for_ghost("installed")
    second.press("Tab")
    assert second.saved(path) == b"x = installed\n"
    second.leave()
    first.until(lambda: told(python, "shutdown") == 1, "the second window's server to end")
    path = first.offered("after.py", "y =│\n", " ", "installed")
    (first.environments / "current").unlink()


def test_folders_that_are_not_trusted_and_then_are(first: Workbench, scratch: Path) -> None:
    folders = [scratch / "one", scratch / "two"]
    environment = program(folders[1] / ".venv" / "bin" / "python", says="of_the_second_folder")
    folders[0].mkdir()
    first.configure(serverPath=program(scratch / "server", says="of_the_user"))
    workspace = scratch / "both.code-workspace"
    named = [{"path": str(folder)} for folder in folders]
    workspace.write_text(json.dumps({"folders": named, "settings": {"infill.serverPath": ""}}))
    window = first.another(f"workspace={workspace}", folders[0], trusted=False)
    window.wait_for_model("of_the_user")  # neither the workspace's value nor its environment counts
    fill_in(window, folders[0] / "first.py", "of_the_user")
    assert starts(environment) == 0
    window.command("Workspaces: Manage Workspace Trust")
    window.browser.call("click", ".workspace-trust-editor .monaco-button:has-text('Trust')")
    window.wait_for_model("of_the_second_folder")
    for folder in folders:
        fill_in(window, folder / "file.py", "of_the_second_folder")
    # One server for all folders, started once.
    assert starts(environment) == 1
    [asked] = [message for message in log_of(environment) if message.get("method") == "initialize"]
    assert [folder["name"] for folder in asked["params"]["workspaceFolders"]] == ["one", "two"]
    window.leave()
    first.configure(serverPath=None)


def fill_in(window: Workbench, path: Path, ghost: str) -> None:
    """Write a file and take the ghost text in it."""
    path.write_text("x =\n")
    window.go_to(path, 1, 4)
    window.type_text(" ")
    window.wait_for_ghost(ghost)
    window.press("Tab")
    assert window.saved(path).decode() == f"x = {ghost}\n"


def told(path: str, method: str) -> int:
    """How often a stand-in was sent this."""
    return sum(message.get("method") == method for message in log_of(path))
