"""Open documents as immutable snapshots, and the edits between them.

Lines end at \\n, \\r\\n and \\r and nowhere else, as LSP requires. A keystroke costs the changed lines plus one copy of
the list of lines at C speed (about 0.1 ms for 20,000 lines).
"""

import itertools
import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from infill_engine.text.lines import start_of
from infill_engine.text.sequences import common_ends, common_prefix
from lsp_server.documents.syntax_tree import SyntaxTree
from lsp_server.protocol.positions import Place, line_content, replace_surrogates

REMEMBERED_VERSIONS = 64  # versions in which an undo or redo is recognised
COMPARED_CHARS = 10_000  # larger replacements are not compared for common text

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)")
_FINGERPRINT_MASK = (1 << 64) - 1
_PAIRS = frozenset(("()", "[]", "{}", "<>", '""', "''", "``"))


class EditKind(StrEnum):
    """What the last change did to a document."""

    NONE = "none"  # no change since the document was opened
    INSERTION = "insertion"
    DELETION = "deletion"
    UNDO = "undo"  # undo or redo: the document had this text before


@dataclass(frozen=True, slots=True)
class TextChange:
    """Replace the text from `start` to `end` by `text`."""

    text: str
    start: Place
    end: Place


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One version of a document.

    `lines` include their terminators. The last line has none, so there is always at least one line. `size` is the
    text's length in characters. `version` is the server's own and grows with every change of any document, because
    client versions may jump or be absent; `client_version` is the client's. `cursor` is the cursor position that the
    last change suggests.
    """

    uri: str
    language: str
    version: int
    lines: tuple[str, ...]
    size: int
    syntax: SyntaxTree
    last_edit: EditKind = EditKind.NONE
    cursor: Place = (0, 0)
    client_version: int = 0


@dataclass(frozen=True, slots=True)
class EditStep:
    """A change, and the document before and after it."""

    before: Snapshot
    change: TextChange
    after: Snapshot


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """What one notification does to a document: its steps in order, and the document after the last one.

    `arrived` is when the notification arrived, in seconds of `deadline.now`. Only `after` knows the client's version,
    and the edit that the steps are together.
    """

    steps: tuple[EditStep, ...]
    after: Snapshot
    arrived: float


@dataclass(slots=True)
class _Open:
    snapshot: Snapshot
    fingerprint: int
    settled: deque[int]  # fingerprints of the versions that `Documents.settle` returned, the newest last
    opened: int = 1  # open count; a client may open a document twice
    steps: list[EditStep] = field(default_factory=list)  # since then
    net: list[tuple[str, str]] = field(default_factory=list)  # what each of them removed and inserted


class Documents:
    """The client's open documents."""

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}
        self._versions = itertools.count(1)

    def get(self, uri: str) -> Snapshot | None:
        """Return the newest snapshot, or None if the document is not open."""
        held = self._open.get(uri)
        return None if held is None else held.snapshot

    def is_newest(self, snapshot: Snapshot) -> bool:
        """Return whether a snapshot is the newest of an open document."""
        return self.get(snapshot.uri) is snapshot

    def snapshots(self) -> list[Snapshot]:
        """Return the newest snapshot of every document, most recently changed first."""
        return sorted((held.snapshot for held in self._open.values()), key=lambda s: s.version, reverse=True)

    def open(self, uri: str, language: str, text: str, client_version: int = 0) -> Snapshot:
        """Open a document, or reopen it with this text."""
        lines = split_lines(replace_surrogates(text))
        size = sum(map(len, lines))
        syntax = SyntaxTree.of(language, lines)
        snapshot = Snapshot(uri, language, next(self._versions), lines, size, syntax, client_version=client_version)
        opened = self._open[uri].opened + 1 if uri in self._open else 1
        fingerprint = _fingerprint(lines)
        self._open[uri] = _Open(snapshot, fingerprint, deque([fingerprint], REMEMBERED_VERSIONS), opened)
        return snapshot

    def close(self, uri: str) -> bool:
        """Close a document once. Forget it after as many closes as opens, and return whether it was forgotten."""
        held = self._open.get(uri)
        if held is not None:
            held.opened -= 1
            if held.opened <= 0:
                del self._open[uri]
        return uri not in self._open

    def change(self, uri: str, change: TextChange, client_version: int = 0, arrived: float = 0.0) -> DocumentChange:
        """Apply the only change of a notification to an open document."""
        self.apply(uri, change)
        return self.settle(uri, client_version, arrived)

    def apply(self, uri: str, change: TextChange) -> Snapshot:
        """Apply one of the changes of a notification to an open document. Call `settle` after the last one."""
        held = self._open[uri]
        before = held.snapshot
        applied = _apply(before, change, next(self._versions))
        held.fingerprint = (held.fingerprint + applied.fingerprint) & _FINGERPRINT_MASK
        held.snapshot = applied.snapshot
        held.steps.append(EditStep(before, change, applied.snapshot))
        held.net.append(applied.net)
        return held.snapshot

    def settle(self, uri: str, client_version: int = 0, arrived: float = 0.0) -> DocumentChange:
        """Return what the changes of one notification do, after the last of them was applied."""
        held = self._open[uri]
        row, column = held.snapshot.cursor
        if held.net and held.net[-1][1] in _PAIRS:  # auto-closed by the editor; the cursor is inside
            column -= 1
        held.snapshot = replace(
            held.snapshot, last_edit=_classify(held), cursor=(row, column), client_version=client_version
        )
        held.settled.append(held.fingerprint)
        steps = tuple(held.steps)
        held.steps.clear()
        held.net.clear()
        return DocumentChange(steps, held.snapshot, arrived)


def change_to(old: Snapshot, text: str) -> TextChange:
    """Return the change that leads to a text: of what differs, which keeps the tree and the cursor."""
    lines = split_lines(replace_surrogates(text))
    shortest = min(len(old.lines), len(lines)) - 1
    top = common_prefix(old.lines[:shortest], lines)
    bottom = min(shortest - top, common_prefix(old.lines[::-1], lines[::-1]))
    end = (len(old.lines) - bottom, 0) if bottom else _place_at(old.lines, top, old.size)
    removed, inserted = text_between(old.lines, (top, 0), end), "".join(lines[top : len(lines) - bottom])
    if "\r" in removed or "\r" in inserted or len(removed) + len(inserted) > COMPARED_CHARS:
        return TextChange(inserted, (top, 0), end)
    left, right = common_ends(removed, inserted)
    end = _place_at(old.lines, top, len(removed) - right)
    return TextChange(inserted[left : len(inserted) - right], _place_at(old.lines, top, left), end)


def snapshot_after(snapshot: Snapshot, change: TextChange) -> Snapshot:
    """Return the document as it would be after a hypothetical change, with `cursor` right after the inserted text."""
    after = _apply(snapshot, change, snapshot.version).snapshot
    return replace(after, syntax=SyntaxTree.none())


def text_between(lines: Sequence[str], start: Place, end: Place) -> str:
    """Return the text between two places."""
    (top, left), (bottom, right) = start, end
    if top == bottom:
        return lines[top][left:right]
    return lines[top][left:] + "".join(lines[top + 1 : bottom]) + lines[bottom][:right]


def one_key_types(text: str) -> bool:
    """Return whether one keystroke inserts this text: a character, a pair of brackets, or a line break with
    indentation."""
    line_break = text[:1] in ("\n", "\r") and not text.strip()
    return len(text) == 1 or text in _PAIRS or line_break


def split_lines(text: str) -> tuple[str, ...]:
    """Split `text` into lines with their terminators. The last item is what follows the last terminator, or ""."""
    if "\r" in text:
        ended = start_of(text, len(text))  # past this point the pattern would try every character in vain
        return (*_LINE.findall(text, 0, ended), text[ended:])
    *lines, last = text.split("\n")
    return (*(line + "\n" for line in lines), last)


@dataclass(frozen=True, slots=True)
class _Applied:
    snapshot: Snapshot
    fingerprint: int  # added to the fingerprint of the text before
    net: tuple[str, str]


def _apply(old: Snapshot, change: TextChange, version: int) -> _Applied:
    lines = old.lines
    text = replace_surrogates(change.text)
    start, end = sorted((change.start, change.end))
    removed = text_between(lines, start, end)

    first = start[0]
    segment = lines[first][: start[1]] + text + lines[end[0]][end[1] :]
    if segment.startswith("\n") and first and lines[first - 1].endswith("\r"):
        first -= 1  # \r and \n now form one line end
        segment = lines[first] + segment
    fresh = split_lines(segment)
    beyond = end[0] + 1
    if beyond < len(lines):  # the text after the last terminator is the next line
        fresh = fresh[:-1]
    replaced = lines[first:beyond]
    after = (*lines[:first], *fresh, *lines[beyond:])
    left = sum(map(len, lines[first : start[0]])) + start[1] + len(text)
    cursor = _place_at(after, first, left)

    syntax = old.syntax.edited(lines, start, end, text, fresh, len(after) - len(lines))
    size = old.size + len(text) - len(removed)
    snapshot = Snapshot(old.uri, old.language, version, after, size, syntax, old.last_edit, cursor)
    return _Applied(snapshot, _fingerprint(fresh) - _fingerprint(replaced), _net(removed, text))


def _place_at(lines: Sequence[str], row: int, offset: int) -> Place:
    """Return the place `offset` characters after the start of a row."""
    while row < len(lines) - 1 and offset >= len(lines[row]):
        offset -= len(lines[row])
        row += 1
    return row, min(offset, len(line_content(lines[row])))


def _net(removed: str, inserted: str) -> tuple[str, str]:
    """Return the text that a change removed and inserted, without what both have at either end."""
    if len(removed) + len(inserted) > COMPARED_CHARS:
        return removed, inserted
    left, right = common_ends(removed, inserted)
    return removed[left : len(removed) - right], inserted[left : len(inserted) - right]


def _classify(held: _Open) -> EditKind:
    effective = [(removed, inserted) for removed, inserted in held.net if removed or inserted]
    if held.fingerprint == held.settled[-1] or not effective:
        return held.snapshot.last_edit
    if held.fingerprint in held.settled and any(removed or not one_key_types(new) for removed, new in effective):
        return EditKind.UNDO
    # A line break comes with indentation, some of which an editor may remove again.
    last = next((pair for pair in reversed(effective) if pair[1] or pair[0].strip()), effective[-1])
    return EditKind.INSERTION if last[1] else EditKind.DELETION


def _fingerprint(lines: Iterable[str]) -> int:
    """Return a fingerprint of lines that does not depend on their order, so that a change only adds a difference."""
    return sum(map(hash, lines)) & _FINGERPRINT_MASK
