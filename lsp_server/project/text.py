"""The text of the project's other files, joined into one text that is searched for drafts.

The continuation of a line often exists in a file that is not open. The files nearest to a document are read from disk
in the background when it is opened, and again when the text is out of date. Until then there is no text.
"""

import asyncio
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from cachetools import LRUCache

from infill_engine.context.drafts.renamed_match import outline_of_other
from infill_engine.context.project_text import joined, nearest_first
from infill_engine.text.indents import shown_in
from infill_engine.text.languages import all_entries, language_of, related
from infill_engine.types import ProjectText
from lsp_server.project.editorconfig import indentation_of
from lsp_server.project.excludes import is_excluded
from lsp_server.project.files import MOST_LISTED, listed, read_source
from lsp_server.protocol.uris import path_of, root_of

OLD_SECONDS = 300.0
MOST_PATHS = 5_000  # of the nearest files, which are remembered
DOCUMENTS = 6  # documents whose project texts are kept


@dataclass(frozen=True, slots=True)
class Project:
    """What was read around a document: the text of the nearest files, and the paths of all files, nearest first and
    relative to the workspace folder.

    `indent` is a level of indentation as `.editorconfig` or else these files have it, "" if nothing shows one. `since`
    is when the read started or finished. Before that, everything is empty.
    """

    text: ProjectText = field(default_factory=ProjectText)
    paths: tuple[str, ...] = ()
    indent: str = ""
    since: float = -math.inf


NOT_READ = Project()


class ProjectTexts:
    """The project texts of the few most recently requested documents."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: LRUCache[str, Project] = LRUCache(DOCUMENTS)
        self._one_at_a_time = asyncio.Lock()  # an editor may open a whole window of documents at once

    def of(self, uri: str) -> Project:
        """Return what was read around a document."""
        return self._known.get(path_of(uri), NOT_READ)

    def is_due(self, uri: str) -> bool:
        """Return whether `read` should be called."""
        return self._clock() - self.of(uri).since > OLD_SECONDS

    def forget(self, uri: str) -> None:
        """Drop the project text of a closed document, which may be megabytes."""
        self._known.pop(path_of(uri), None)

    async def read(self, uri: str, language: str, roots: Iterable[str], excludes: tuple[str, ...]) -> None:
        """Read the files around a document. A document outside all workspace folders has no project text."""
        path = path_of(uri)
        self._known[path] = before = replace(self.of(uri), since=self._clock())
        root = root_of(path, roots)
        if root is None:
            indent = await asyncio.to_thread(indentation_of, Path(path)) if path else ""
            if path in self._known:
                self._known[path] = replace(before, indent=indent)
            return
        async with self._one_at_a_time:
            if path not in self._known:  # evicted while waiting, because more documents were opened than are kept
                return
            found = await asyncio.to_thread(read_project, Path(path), language, Path(root), excludes)
        if path in self._known:
            self._known[path] = replace(found, since=self._clock())


def read_project(document: Path, language: str, root: Path, excludes: tuple[str, ...]) -> Project:
    """Read the files under `root` around a document that are in its `language` or in one searched with it.

    Folders that cannot be read contribute no text.
    """
    nearest, alike = paths_around(document, root), related(language)
    written = (path for path in nearest if language_of(path.name) in alike)
    allowed = (path for path in written if not is_excluded((root / path).as_uri(), excludes, (str(root),)))
    read = ((str(path), read_source(root / path)) for path in allowed)
    found = joined((path, text) for path, text in read if text is not None)
    outline_of_other(found.text, language)  # caches what the search needs
    paths = tuple(str(one) for one in nearest[:MOST_PATHS])
    return Project(found, paths, indentation_of(document) or shown_in(found.text))


def paths_around(document: Path, root: Path) -> list[PurePosixPath]:
    """List the files under `root` other than `document`, nearest first."""
    own = PurePosixPath(document.relative_to(root).as_posix())
    paths = (path for path, _ in zip(listed(root), range(MOST_LISTED), strict=False))
    return nearest_first(own, (path for path in paths if path != own))


def project_of(document: Path) -> Path | None:
    """Return the repository or package folder that contains a file, found by its marker files; None without any."""
    marks = {mark for entry in all_entries() for mark in entry.project.marks}
    return next((folder for folder in document.parents if any((folder / mark).exists() for mark in marks)), None)
