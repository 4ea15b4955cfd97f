"""Turns FILE:LINE:COL on a command line into the document and place that an editor would send."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from infill_engine.errors import InputError
from infill_engine.text.languages import recognise
from infill_engine.types import Reason
from lsp_server.documents.snapshots import Documents, Snapshot
from lsp_server.project.excludes import is_excluded
from lsp_server.protocol.positions import Place, line_content
from lsp_server.settings.schema import DEFAULT_EXCLUDES
from lsp_server.suggestions.workspace import LARGEST_SIZE

UNKNOWN_LANGUAGE = "plaintext"

_PLACE = re.compile(r"(?P<path>.+):(?P<line>[0-9]{1,9}):(?P<column>[0-9]{1,9})", re.DOTALL)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


@dataclass(frozen=True, slots=True)
class NamedPlace:
    """A place as a user writes it. Lines and columns count from 1, columns in characters."""

    path: Path
    line: int
    column: int

    @classmethod
    def parse(cls, text: str) -> "NamedPlace":
        """Parse FILE:LINE:COL from the right, because a path may contain colons. Raises InputError."""
        found = _PLACE.fullmatch(text)
        if found is None:
            raise InputError(f"{text!r} is not a place; give FILE:LINE:COL, such as src/app.py:12:8")
        return cls(Path(found["path"]), int(found["line"]), int(found["column"]))

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class OpenPlace:
    """A document and a place in it."""

    snapshot: Snapshot
    place: Place


def open_at(named: NamedPlace) -> OpenPlace | Reason:
    """Open a document as an editor would, or return why it must not be completed.

    An excluded file is never read. Raises InputError for a file, line or column that does not exist.
    """
    path = named.path
    try:
        is_file, size = path.is_file(), path.stat().st_size
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; give the path of a file") from None
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    if not is_file:
        raise InputError(f"{path} is not a regular file; give the path of a file")
    uri = Path(os.path.abspath(path)).as_uri()
    if is_excluded(uri, DEFAULT_EXCLUDES, (os.getcwd(),)):
        return Reason.EXCLUDED
    if size > LARGEST_SIZE:
        return Reason.UNSUPPORTED
    text = _read(path)
    if text is None:
        return Reason.UNSUPPORTED
    snapshot = open_text(uri, recognise(UNKNOWN_LANGUAGE, path.name, text).language, text)
    return OpenPlace(snapshot, _place_in(snapshot, named))


def open_text(uri: str, language: str, text: str) -> Snapshot:
    """Return the snapshot of a newly opened document."""
    return Documents().open(uri, language, text)


def _place_in(snapshot: Snapshot, named: NamedPlace) -> Place:
    if not 1 <= named.line <= len(snapshot.lines):
        raise InputError(
            f"{named.path} has no line {named.line}; give a line from 1 to {len(snapshot.lines)} (they count from 1)"
        )
    width = len(line_content(snapshot.lines[named.line - 1]))
    if not 1 <= named.column <= width + 1:
        raise InputError(
            f"line {named.line} of {named.path} has no column {named.column}; give a column from 1 to {width + 1} "
            "(they count characters, from 1)"
        )
    return named.line - 1, named.column - 1


def _read(path: Path) -> str | None:
    """Return the file's text without a byte-order mark, or None for a binary file.

    Text that is not UTF-8 is read as Latin-1, so that one accent in a comment does not exclude the whole file.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from error
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None if _CONTROL.search(data) else data.decode("latin-1")


def _unreadable(path: Path, error: Exception) -> InputError:
    detail = error.strerror if isinstance(error, OSError) and error.strerror else error
    return InputError(f"{path} cannot be read ({detail}); give a file that you may read")
