"""Paths in URIs as editors write them, on either kind of system."""

from pathlib import PureWindowsPath

import pytest

from lsp_server.protocol.uris import path_of

PATHS = [
    # a URI, its path on Windows, and elsewhere
    ("file:///c%3A/w/a%20b.py", "C:/w/a b.py", "/c:/w/a b.py"),
    ("file:///C:/w/a.py", "C:/w/a.py", "/C:/w/a.py"),
    ("file:///c:", "C:", "/c:"),
    ("file://server/share/a.py", "//server/share/a.py", "/share/a.py"),
    ("file:///w/a.py", "/w/a.py", "/w/a.py"),
    ("vscode-notebook-cell:/c%3A/w/a.ipynb#X1", "C:/w/a.ipynb", "/c:/w/a.ipynb"),
    ("untitled:Untitled-1", "Untitled-1", "Untitled-1"),
    ("http://[", "", ""),
    ("", "", ""),
]


@pytest.mark.parametrize(("uri", "windows", "elsewhere"), PATHS)
def test_the_path_in_a_uri(uri: str, windows: str, elsewhere: str) -> None:
    assert (path_of(uri, windows=True), path_of(uri, windows=False)) == (windows, elsewhere)


@pytest.mark.parametrize("folder", ["file:///c%3A/Work", "file:///C:/Work", "file:///C%3A/work"])
def test_a_file_lies_in_its_folder_however_the_drive_is_written(folder: str) -> None:
    root, file = (PureWindowsPath(path_of(uri, windows=True)) for uri in (folder, "file:///c:/work/src/a.py"))
    assert root.is_absolute()
    assert file.relative_to(root).as_posix() == "src/a.py"
    assert file.as_uri() == "file:///C:/work/src/a.py"
