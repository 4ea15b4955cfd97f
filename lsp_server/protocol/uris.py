"""Converts a URI to a path in the system's notation, and finds the workspace folder that contains it."""

import os
import re
from collections.abc import Iterable
from pathlib import PurePath
from urllib.parse import unquote, urlsplit

_DRIVE = re.compile(r"\A/([A-Za-z]):(?=/|\Z)")


def path_of(uri: str, *, windows: bool = os.name == "nt") -> str:
    """Return the decoded path of a URI of any scheme; "" if it has no valid path or is not a URI.

    On Windows, drops the slash before the drive and capitalises the drive letter. Editors differ in both, and equal
    folders must give equal strings.
    """
    try:
        parts = urlsplit(uri)
        path = unquote(parts.path)
        path.encode()
    except ValueError:
        return ""
    if "\0" in path:
        return ""
    if not windows:
        return path
    if parts.scheme == "file" and parts.netloc:
        return f"//{unquote(parts.netloc)}{path}"  # a network share
    return _DRIVE.sub(lambda found: f"{found[1].upper()}:", path)


def path_in_project(uri: str, roots: Iterable[str]) -> str:
    """Return a document's path relative to its workspace folder, with slashes; "" if it is in none."""
    path = path_of(uri)
    root = root_of(path, roots)
    return "" if root is None else PurePath(path).relative_to(root).as_posix()


def root_of(path: str, roots: Iterable[str]) -> str | None:
    """Return the innermost workspace folder that contains a path; None if there is none."""
    around = [root for root in roots if PurePath(path).is_relative_to(root)]
    return max(around, key=lambda root: len(PurePath(root).parts), default=None)
