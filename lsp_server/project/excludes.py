"""Decides which files are never sent to the model: gitignore patterns matched against a document's path."""

import os
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING

from lsp_server.protocol.uris import path_of, root_of
from lsp_server.settings.schema import DEFAULT_EXCLUDES

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


@lru_cache(maxsize=1024)
def is_excluded(uri: str, patterns: tuple[str, ...], roots: tuple[str, ...]) -> bool:
    """Return whether a document matches a pattern. `roots` are the workspace folders' paths.

    A pattern may match any part of the path, inside or outside a workspace folder. The workspace folder's own name
    counts only for secret folders that are always excluded, such as `.ssh`. An unsaved document is judged by its name,
    if it has one. A symbolic link is judged by what it points to as well, and secrets whatever their names' case.
    """
    path = path_of(uri)
    if not path or not patterns:
        return False
    paths = {path, os.path.realpath(path)} if uri.startswith("file:") else {path}
    return any(_matches(each, patterns, roots) for each in paths)


def bad_patterns(patterns: Sequence[str]) -> list[str]:
    """Return the patterns that are not valid gitignore syntax."""
    return [pattern for pattern in patterns if not _compiles(pattern)]


def _matches(path: str, patterns: tuple[str, ...], roots: tuple[str, ...]) -> bool:
    root = root_of(path, roots)
    inside = _from_top(path) if root is None else PurePath(path).relative_to(root).as_posix()
    secrets, users = _parted(patterns)
    return _spec(secrets).match_file(_from_top(path).lower()) or _spec(users).match_file(inside)


@lru_cache(maxsize=8)
def _parted(patterns: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the built-in patterns with those that the user negated, in lower case, and the user's own."""
    users = tuple(pattern for pattern in patterns if pattern not in DEFAULT_EXCLUDES)
    negated = {pattern for pattern in users if pattern.startswith("!")}
    return tuple(pattern.lower() for pattern in patterns if pattern not in users or pattern in negated), users


def _from_top(path: str) -> str:
    return PurePath(path).as_posix().lstrip("/")


@lru_cache(maxsize=8)
def _spec(patterns: tuple[str, ...]) -> "GitIgnoreSpec":
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(pattern for pattern in patterns if _compiles(pattern))


@lru_cache(maxsize=256)
def _compiles(pattern: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([pattern])
    except (ValueError, re.error):  # for example a range that ends before it begins
        return False
    return True
