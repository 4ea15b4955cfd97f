"""Remembers what the user deleted, and where, so that it is not offered there again unasked.

It stays away until something else is typed there, whatever happens on other lines meanwhile. A place is the same as
long as the text next to it is, white space aside: a deleted line may come back with its indentation.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from lsp_server.documents.snapshots import EditStep, Snapshot, text_between
from lsp_server.protocol.positions import Place

MOST_REMEMBERED = 20  # deletions per document
MOST_CHARS = 400  # of a deleted text that are compared, without white space
BESIDE_CHARS = 12  # compared on each side of a place, without white space
LONGEST_LINE = 2_000  # characters of a line that are looked at
LEAST_CHARS = 3  # a shorter deletion corrects a typing error
END = "\0"  # stands for either end of the document


@dataclass(frozen=True, slots=True)
class _Deletion:
    """A deleted text and those beside it, all without white space; `start` is where it began in the document."""

    before: str
    text: str
    after: str
    start: Place

    def restored_by(self, left: str, text: str, right: str) -> bool:
        """Return whether a text brings back this one, or its first line, between what is left and right of it."""
        if not right.startswith(self.after):
            return False
        squeezed, first = _squeezed(text), _squeezed(text.lstrip().split("\n", 1)[0])
        for typed in range(len(self.text)):
            rest = self.text[typed:]
            again = rest.startswith(first) or squeezed.startswith(rest)
            if first and again and left.endswith(self.before + self.text[:typed]):
                return True
        return False


@dataclass(slots=True)
class Deletions:
    """What was deleted from the open documents, oldest first."""

    _known: dict[str, list[_Deletion]] = field(default_factory=dict)
    _running: tuple[str, str] = ("", "")  # the document of the deletion that goes on key by key, and its text

    def edited(self, step: EditStep) -> None:
        """Record what a change deletes. Deletions next to each other, with nothing typed between them, are one."""
        before, change = step.before, step.change
        start, end = sorted((change.start, change.end))
        text = text_between(before.lines, start, end)
        known, (uri, running) = self._known.setdefault(before.uri, []), self._running
        last = known[-1].start if known and uri == before.uri and not change.text else None
        if last in (start, end):
            known.pop()
            text = text + running if last == end else running + text
        self._running = ("", "") if change.text else (before.uri, text)
        if text:
            left, right = _left_of(before.lines, start, BESIDE_CHARS), _right_of(before.lines, end, BESIDE_CHARS)
            known.append(_Deletion(left, _squeezed(text[: 10 * MOST_CHARS])[:MOST_CHARS], right, start))
            del known[:-MOST_REMEMBERED]

    def restores(self, snapshot: Snapshot, start: Place, end: Place, text: str) -> bool:
        """Return whether a text that would replace `start` to `end` brings back what was deleted there."""
        known = [one for one in self._known.get(snapshot.uri, ()) if len(one.text) >= LEAST_CHARS]
        if not known:
            return False
        left = _left_of(snapshot.lines, start, BESIDE_CHARS + MOST_CHARS)
        right = _right_of(snapshot.lines, end, BESIDE_CHARS)
        return any(one.restored_by(left, text, right) for one in known)

    def forget(self, uri: str) -> None:
        """The document was closed."""
        self._known.pop(uri, None)


def _left_of(lines: Sequence[str], place: Place, most: int) -> str:
    """Return the last characters before a place, without white space."""
    row, column = place
    above = (lines[at][-LONGEST_LINE:] for at in range(row - 1, -1, -1))
    return "".join(reversed(_enough(chain((lines[row][:column][-LONGEST_LINE:],), above), most)))[-most:]


def _right_of(lines: Sequence[str], place: Place, most: int) -> str:
    """Return the first characters after a place, without white space."""
    row, column = place
    below = (lines[at][:LONGEST_LINE] for at in range(row + 1, len(lines)))
    return "".join(_enough(chain((lines[row][column : column + LONGEST_LINE],), below), most))[:most]


def _enough(pieces: Iterable[str], most: int) -> list[str]:
    """Return pieces without their white space, as many as needed; the mark of the document's end if it is reached."""
    found: list[str] = []
    for piece in pieces:
        found.append(_squeezed(piece))
        most -= len(found[-1])
        if most <= 0:
            return found
    return [*found, END]


def _squeezed(text: str) -> str:
    return "".join(text.split())
