"""Which files are never sent to the model: gitignore patterns against a document's path."""

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING

from lsp_server.uris import path_of

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


@lru_cache(maxsize=1024)
def is_excluded(uri: str, patterns: tuple[str, ...], roots: tuple[str, ...]) -> bool:
    """Whether a document matches a pattern. `roots` are the workspace folders' paths.

    Any part of the path that the patterns name counts, in a workspace folder or not. A document that is no file yet is
    judged by its name, if it has one.
    """
    path = path_of(uri)
    if not path or not patterns:
        return False
    return _spec(patterns).match_file(_inside(path, roots))


def bad_patterns(patterns: Sequence[str]) -> list[str]:
    """Those patterns that are not gitignore syntax."""
    return [pattern for pattern in patterns if not _compiles(pattern)]


def _inside(path: str, roots: tuple[str, ...]) -> str:
    for root in roots:
        if PurePath(path).is_relative_to(root):
            return PurePath(path).relative_to(root).as_posix() or path
    return path.lstrip("/" + os.sep)


@lru_cache(maxsize=8)
def _spec(patterns: tuple[str, ...]) -> "GitIgnoreSpec":
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(pattern for pattern in patterns if _compiles(pattern))


@lru_cache(maxsize=256)
def _compiles(pattern: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([pattern])
    except ValueError:
        return False
    return True
