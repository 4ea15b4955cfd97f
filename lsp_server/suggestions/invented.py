"""Whether a text names a file that does not exist: an import or a link that the project cannot follow."""

import os
import re
from collections.abc import Iterable, Iterator
from posixpath import basename, dirname, join, normpath

from lsp_server.documents.snapshots import Snapshot, text_between
from lsp_server.protocol.positions import Place, line_content
from lsp_server.protocol.uris import path_of

# A path in a line that imports or links. Absolute addresses, packages and paths with variables are not looked at.
_QUOTED = re.compile(
    r"""\b(?:import|from|require\w*|include\w*|source|export|src|href|url|use|forward|jest\.mock)\b[^"'\n]*"""
    r"""["'](?P<path>\.{1,2}/[\w./@+-]+|[\w./+-]+\.(?:h|hpp|hh|php|css|js|mjs|rb|lua|sh))["']"""
)
_BARE = re.compile(r"\brequire_relative[ (]+[\"'](?P<path>[\w./-]+)[\"']|^[ \t]*(?:pub )?mod (?P<module>\w+);")
_RELATIVE = re.compile(r"^[ \t]*from (?P<dots>\.+)(?P<module>[\w.]*) import\b")


def invents(snapshot: Snapshot, start: Place, end: Place, text: str, known: Iterable[str]) -> bool:
    """Return whether a text that would replace `start` to `end` names a file that is missing.

    `known` are paths of other files: of open documents, and of the project.
    """
    left = text_between(snapshot.lines, (start[0], 0), start)
    right = line_content(snapshot.lines[end[0]][end[1] :])
    named = list(_named(left + text + right, len(left), len(left) + len(text)))
    return bool(named) and not all(_exists(path_of(snapshot.uri), path, known) for path in named)


def _named(rows: str, start: int, end: int) -> Iterator[str]:
    """Yield the relative paths in some lines of which a part is between two offsets."""
    at = 0
    for row in rows.split("\n"):
        for pattern in (_QUOTED, _BARE, _RELATIVE):
            for found in pattern.finditer(row):
                groups = found.groupdict()
                group = "path" if groups.get("path") else "module"
                if groups.get(group) and at + found.start(group) < end and at + found.end(group) > start:
                    up = "../" * (len(groups["dots"]) - 1) if groups.get("dots") else ""
                    yield groups["path"] if group == "path" else up + groups[group].replace(".", "/")
        at += len(row) + 1


def _exists(document: str, path: str, known: Iterable[str]) -> bool:
    """Return whether a path leads from a document to a folder, or to a file, written with its suffix or without."""
    target = normpath(join(dirname(document), path))
    folder, name = dirname(target), basename(target)
    try:
        there = os.listdir(folder)
    except OSError:
        there = []
    there += [basename(other) for other in known if dirname(other) == folder]
    if any(one == name or one.removeprefix("_").startswith(f"{name}.") for one in there):
        return True
    return any(f"/{other}".endswith(f"/{path}") for other in known)  # as a compiler finds headers
