"""Groups a document's edits into bursts. Consecutive edits at one place count as one edit.

    a burst continues     while edits touch its lines or adjacent ones
    it ends               at an edit elsewhere after a long time, or when the cursor rests elsewhere
    it is forgotten       after an undo, a paste or a bulk change

The text before a burst is kept as the lines of a snapshot, which costs nothing. Offsets are computed on demand.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from infill_engine.edits.changes import between, compose, followed_by, hunk_texts, make, trimmed
from infill_engine.edits.types import Change, EditedText, NoEditReason
from lsp_server.documents.snapshots import EditStep, Snapshot, text_between
from lsp_server.protocol.positions import Place, replace_surrogates

PASTE_CHARS, PASTE_LINES = 200, 8  # inserted or removed at once, or within BULK_SECONDS
BULK_SECONDS = 1.5
FORGOTTEN_SECONDS = 300.0  # a later edit elsewhere is unrelated to the earlier ones
REMEMBERED = 8  # bursts
COMPOSED = 3  # at most this many bursts are searched as one edit


@dataclass(frozen=True, slots=True)
class Edited:
    """One change of a document, in character offsets of the text before it. `row` is where it begins."""

    start: int
    end: int
    new: str
    row: int

    @property
    def rows(self) -> int:
        """The number of line breaks it inserts."""
        return self.new.count("\n")


@dataclass(slots=True)
class Burst:
    """`changes` refer to the text before the burst. `first` and `last` are the touched rows in the current text."""

    before: Snapshot
    changes: tuple[Change, ...]
    first: int
    last: int
    at: float  # time of the newest edit, in seconds
    ended: bool = False
    accepted: bool = False  # consists of a proposal that the user accepted
    _hunks: tuple[tuple[str, str], ...] = ()  # what `hunks` returned for the changes as they are now

    def extend(self, edit: Edited) -> None:
        """Add one more change."""
        self.changes = compose(self.changes, edit.start, edit.end, edit.new)
        self._hunks = ()

    def hunks(self) -> tuple[tuple[str, str], ...]:
        """Return the groups of adjacent lines that were changed, before and after."""
        if not self._hunks:
            self._hunks = hunk_texts("".join(self.before.lines), self.changes)
        return self._hunks

    def edited_text(self) -> EditedText:
        """Return the burst as an edit of the text before it."""
        before = "".join(self.before.lines)
        return EditedText(before, make(before, self.changes), self.changes, self.before.language)

    def is_at(self, first: int, last: int) -> bool:
        """Return whether an edit of these rows continues the burst."""
        return not self.ended and not self.accepted and self.first - 1 <= first and last <= self.last + 1


@dataclass(slots=True)
class Bursts:
    """The newest bursts of one document, oldest first. `reason` is why the last edit must not be followed up."""

    reason: NoEditReason | None = NoEditReason.NOTHING_EDITED
    _bursts: list[Burst] = field(default_factory=list)
    _recent: list[tuple[float, int, int]] = field(default_factory=list)  # time, characters and lines of each edit

    @property
    def newest(self) -> Burst | None:
        """The burst that contains the last edit."""
        return self._bursts[-1] if self._bursts else None

    @property
    def all(self) -> Sequence[Burst]:
        """All bursts that are remembered, oldest first."""
        return self._bursts

    def edited(self, step: EditStep, edit: Edited, at: float, *, accepted: bool = False) -> bool:
        """Record a change of the document. Return whether it continues the newest burst.

        `edit` is the step as `edited_by` returns it. `accepted` edits are those of a proposal; they are grouped
        together regardless of place.
        """
        before, after = step.before, step.after
        grown = len(after.lines) - len(before.lines)
        gone = edit.rows - grown  # line breaks removed
        if not accepted and self._is_bulk(edit, gone, at):
            self.forget(NoEditReason.BULK)
            return False
        self.reason = None
        newest = self.newest
        if newest is not None and newest.accepted and accepted:
            newest.extend(edit)
            return False
        if newest is not None and not accepted and newest.is_at(edit.row, edit.row + gone):
            newest.extend(edit)
            newest.first = min(newest.first, edit.row)
            newest.last = max(newest.last + grown, edit.row + edit.rows)
            newest.at = at
            return True
        if newest is not None and at - newest.at > FORGOTTEN_SECONDS:
            self._bursts.clear()
        for burst in self._bursts:
            if edit.row < burst.first:
                burst.first, burst.last = burst.first + grown, burst.last + grown
        change = (Change(edit.start, edit.end, edit.new),)
        self._bursts.append(Burst(before, change, edit.row, edit.row + edit.rows, at, accepted=accepted))
        del self._bursts[:-REMEMBERED]
        return False

    def undone(self) -> None:
        """The text has returned to an earlier version."""
        self.forget(NoEditReason.UNDO)

    def forget(self, reason: NoEditReason) -> None:
        """Discard all edits so far, for this reason."""
        self._bursts.clear()
        self.reason = reason

    def rests(self, row: int) -> None:
        """The cursor has come to rest. If it is outside the newest burst, that burst ends."""
        newest = self.newest
        if newest is not None and not newest.first - 1 <= row <= newest.last + 1:
            newest.ended = True

    def edited_texts(self, snapshot: Snapshot, cursor: int | None, history: Iterable[Burst]) -> Iterable[EditedText]:
        """Yield the newest burst as an edit of the text before it, then combined with the bursts before it.

        If there is none, the text is yielded as it is. `history` has the bursts of all documents, the newest last.
        """
        after = "".join(snapshot.lines)
        changes: tuple[Change, ...] = ()
        edits = tuple(pair for burst in history for pair in burst.hunks())
        if not self._bursts:
            yield EditedText(after, after, (), snapshot.language, cursor, edits)
        for burst in reversed(self._bursts[-COMPOSED:]):
            changes = followed_by(burst.changes, changes)
            before = "".join(burst.before.lines)
            net = trimmed(before, changes)
            if net:
                yield EditedText(before, after, net, snapshot.language, cursor, edits)

    def _is_bulk(self, edit: Edited, gone: int, at: float) -> bool:
        chars = max(len(edit.new), edit.end - edit.start)
        lines = max(edit.rows, gone)
        self._recent = [one for one in self._recent if at - one[0] < BULK_SECONDS]
        self._recent.append((at, chars, lines))
        return sum(one[1] for one in self._recent) > PASTE_CHARS or sum(one[2] for one in self._recent) > PASTE_LINES


def edited_by(step: EditStep) -> Edited:
    """Return what a change does, without the characters that were already there."""
    before, change = step.before, step.change
    start, end = sorted((change.start, change.end))
    row, first = start[0], offset(before.lines, start)
    old = text_between(before.lines, start, end)
    kept = between(old, replace_surrogates(change.text))
    if not kept:
        return Edited(first, first, "", row)
    return Edited(first + kept[0].start, first + kept[0].end, kept[0].new, row + old.count("\n", 0, kept[0].start))


def offset(lines: Sequence[str], place: Place) -> int:
    """Return a place's offset from the start of the text, in characters."""
    row, column = place
    return sum(map(len, lines[:row])) + column


def place_at(lines: Sequence[str], at: int) -> Place:
    """Return the place of a character offset."""
    for row, line in enumerate(lines):
        if at < len(line) or row == len(lines) - 1:
            return row, at
        at -= len(line)
    return 0, 0
