"""Decides which files are never sent to the model: gitignore patterns matched against a document's path."""

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
    if it has one.
    """
    path = path_of(uri)
    if not path or not patterns:
        return False
    root = root_of(path, roots)
    if root is None:
        return _spec(patterns).match_file(_from_top(path))
    return _is_secret(root, patterns) or _spec(patterns).match_file(PurePath(path).relative_to(root).as_posix())


def bad_patterns(patterns: Sequence[str]) -> list[str]:
    """Return the patterns that are not valid gitignore syntax."""
    return [pattern for pattern in patterns if not _compiles(pattern)]


@lru_cache(maxsize=64)
def _is_secret(folder: str, patterns: tuple[str, ...]) -> bool:
    """Return whether the built-in patterns, minus those the user negated, exclude everything in a workspace folder."""
    always = tuple(pattern for pattern in patterns if pattern in DEFAULT_EXCLUDES or pattern.startswith("!"))
    return _spec(always).match_file(f"{_from_top(folder)}/any")


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
