"""Remembers what the user did not want, and where, so that it does not come back there unasked.

    dismissed     nothing is shown there, nor while the next characters of a dismissed text are typed
    typed past    this text is not shown there again, neither longer nor shorter
    deleted       it is not shown there again until something else is typed there, whatever happens on other lines

A place is the same as long as its line and the lines next to it are; edits elsewhere may move it. For what was deleted,
it is the same as long as the text next to it is, white space aside: a deleted line may come back with its indentation.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from lsp_server.documents.snapshots import EditStep, Snapshot, text_between
from lsp_server.protocol.positions import Place, line_content

MOST_DISMISSALS = 200  # of each kind, per document
MOST_DELETIONS = 20  # per document
MOST_CHARS = 400  # of a deleted text that are compared, without white space
BESIDE_CHARS = 12  # compared on each side of a place, without white space
LONGEST_LINE = 2_000  # characters of a line that are looked at
LEAST_CHARS = 3  # a shorter deletion corrects a typing error
END = "\0"  # stands for either end of the document


@dataclass(frozen=True, slots=True)
class PlaceContext:
    """The line of a place on both sides, and the lines next to it, without their terminators."""

    left: str
    right: str
    above: str
    below: str

    def begin(self, later: "PlaceContext") -> bool:
        """Return whether the line can have become that of `later` by typing at this place."""
        beside = (self.right, self.above, self.below) == (later.right, later.above, later.below)
        return beside and later.left.startswith(self.left)


ShownText = tuple[PlaceContext, str]  # a place, and a text that was shown there


@dataclass(slots=True)
class Dismissals:
    """What was dismissed or typed past in the open documents, oldest first."""

    _dismissed: dict[str, dict[ShownText, None]] = field(default_factory=dict)
    _typed_past: dict[str, dict[ShownText, None]] = field(default_factory=dict)

    def dismissed(self, uri: str, offer: ShownText) -> None:
        """The user has dismissed a text."""
        _remember(self._dismissed, uri, offer)

    def typed_past(self, uri: str, offer: ShownText) -> None:
        """The user has typed something other than a text that was shown."""
        _remember(self._typed_past, uri, offer)

    def is_quiet(self, snapshot: Snapshot, place: Place) -> bool:
        """Return whether nothing may be shown unasked at a place."""
        offers = self._dismissed.get(snapshot.uri)
        if not offers:
            return False
        here = context_of(snapshot, place, place)
        return any(at.begin(here) and text.startswith(here.left[len(at.left) :]) for at, text in offers)

    def was_typed_past(self, snapshot: Snapshot, start: Place, end: Place, text: str) -> bool:
        """Return whether a text that would replace `start` to `end`, in one row, must not be shown unasked."""
        offers = self._typed_past.get(snapshot.uri)
        if not offers:
            return False
        here, rest = offered(snapshot, start, end, text)
        return any(at == here and (known.startswith(rest) or rest.startswith(known)) for at, known in offers)

    def forget(self, uri: str) -> None:
        """The document was closed."""
        self._dismissed.pop(uri, None)
        self._typed_past.pop(uri, None)


def context_of(snapshot: Snapshot, start: Place, end: Place) -> PlaceContext:
    """Return the text around the places `start` and `end`, which are in one row."""
    row, lines = start[0], snapshot.lines
    line = line_content(lines[row])
    above = line_content(lines[row - 1]) if row else ""
    below = line_content(lines[row + 1]) if row + 1 < len(lines) else ""
    return PlaceContext(line[: start[1]], line[end[1] :], above, below)


def offered(snapshot: Snapshot, start: Place, end: Place, text: str) -> ShownText:
    """Return a text that would replace `start` to `end`, as one at `end` if it begins with what it replaces."""
    held = snapshot.lines[start[0]][start[1] : end[1]]
    if held and text.startswith(held):
        start, text = end, text[len(held) :]
    return context_of(snapshot, start, end), text


def _remember(kept: dict[str, dict[ShownText, None]], uri: str, offer: ShownText) -> None:
    offers = kept.setdefault(uri, {})
    offers[offer] = None
    if len(offers) > MOST_DISMISSALS:
        del offers[next(iter(offers))]


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
            del known[:-MOST_DELETIONS]

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
