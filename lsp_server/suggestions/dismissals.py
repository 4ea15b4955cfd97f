"""Remembers what the user did not want, and where, so that it does not come back there unasked.

    dismissed     nothing is shown there, nor while the next characters of a dismissed text are typed
    typed past    this text is not shown there again, neither longer nor shorter

A place is the same as long as its line and the lines next to it are. Edits elsewhere may move it.
"""

from dataclasses import dataclass, field

from lsp_server.documents.snapshots import Snapshot
from lsp_server.protocol.positions import Place, line_content

MOST_REMEMBERED = 200  # of each kind, per document


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
    if len(offers) > MOST_REMEMBERED:
        del offers[next(iter(offers))]
