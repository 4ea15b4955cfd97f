"""From a URI to a path as this system writes it, and to the workspace folder that it lies in."""

import os
import re
from collections.abc import Iterable
from pathlib import PurePath
from urllib.parse import unquote, urlsplit

_DRIVE = re.compile(r"\A/([A-Za-z]):(?=/|\Z)")


def path_of(uri: str, *, windows: bool = os.name == "nt") -> str:
    """The path in a URI, decoded, whatever its scheme; "" when it has none that a system takes, or is no URI.

    On Windows without the slash before a drive, whose letter is a capital: editors do not agree on that, and equal
    folders are to be equal texts.
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
        return f"//{unquote(parts.netloc)}{path}"  # a share
    return _DRIVE.sub(lambda found: f"{found[1].upper()}:", path)


def path_in_project(uri: str, roots: Iterable[str]) -> str:
    """A document's path relative to the workspace folder that it lies in, with slashes; "" if it lies in none."""
    path = path_of(uri)
    root = root_of(path, roots)
    return "" if root is None else PurePath(path).relative_to(root).as_posix()


def root_of(path: str, roots: Iterable[str]) -> str | None:
    """The workspace folder that a path lies in, the innermost of several; None if it is in none."""
    around = [root for root in roots if PurePath(path).is_relative_to(root)]
    return max(around, key=lambda root: len(PurePath(root).parts), default=None)
