"""Derive the outcome of a suggestion from the edits that follow it, because editors rarely report it.

    a candidate's text, whole and in one edit        accepted
    several characters of its beginning in one edit  accepted in part
    anything else, or another suggestion is shown    rejected
    the editor says so, or else as rejected          dismissed
    its characters one by one                        pending; typed, once the text is complete

A suggestion that is shown again while its text is being typed, or requested again at its place, counts once. A
candidate shown by request, at any confidence, stays visible while it is being typed. An undo changes no outcome. What
was dismissed or typed past is remembered in `Dismissals`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from infill_engine.text.lines import with_plain_ends
from infill_engine.text.sequences import common_prefix
from lsp_server.documents.snapshots import DocumentChange, Snapshot, one_key_types
from lsp_server.protocol.positions import Place
from lsp_server.suggestions.unwanted import Deletions, Dismissals, ShownText, context_of, offered

LONGEST_LINES = 200  # lines inserted below a suggestion; a longer insertion is not one of ours


class Outcome(StrEnum):
    """How a suggestion ended."""

    ACCEPTED = "accepted"
    PARTIAL = "partial"
    REJECTED = "rejected"
    TYPED = "typed"
    DISMISSED = "dismissed"


SHOWN = "shown"
SHOWN_LATE, ACCEPTED_LATE = "shownLate", "acceptedLate"  # of those, the ones from a late answer
CHARACTERS_SAVED = "charactersSaved"
Count = Callable[[str, int], None]  # a counter's name and its increment


@dataclass(slots=True)
class _Suggestion:
    """Candidates offered at one place. `left` and `right` are the text of its line on both sides.

    `inserted` is the current text between the two; at first, the text that the candidates replace. `lines` is how many
    the document had. `unsure` candidates were shown because the user asked for them.
    """

    versions: set[int]
    row: int
    left: str
    right: str
    lines: int
    inserted: str
    texts: tuple[str, ...]
    offers: tuple[ShownText, ...]  # the texts that were seen, here and at the place where typing began
    unsure: bool = False
    late: bool = False  # shown because the client was told to ask again
    begun: bool = False  # the user has begun to type or accept it
    partly: bool = False
    outcome: Outcome | None = None

    def front(self) -> tuple[int, str]:
        """Return the row of the place after the inserted text, and the text before it in that row."""
        text = self.left + self.inserted
        return self.row + text.count("\n"), text.rpartition("\n")[2]


@dataclass(slots=True)
class SuggestionTracker:
    """The newest suggestion of each document. `count` is called for every outcome, and with -1 for a revoked one."""

    count: Count
    dismissals: Dismissals = field(default_factory=Dismissals)
    deletions: Deletions = field(default_factory=Deletions)
    _suggestions: dict[str, _Suggestion] = field(default_factory=dict)

    def shown(
        self,
        snapshot: Snapshot,
        start: Place,
        end: Place,
        texts: Sequence[str],
        *,
        unsure: bool = False,
        late: bool = False,
    ) -> None:
        """These texts were offered to replace `start` to `end`, in one row. `unsure` ones were explicitly requested."""
        row, column = start
        line = snapshot.lines[row]
        versions, held = {snapshot.client_version}, line[column : end[1]]
        left, right, offer = line[:column], line[end[1] :], offered(snapshot, start, end, texts[0])
        fresh = _Suggestion(versions, row, left, right, len(snapshot.lines), held, tuple(texts), (offer,), unsure, late)
        older = self._suggestions.get(snapshot.uri)
        if older is not None and older.outcome is None and fresh.front() == older.front():
            fresh.versions |= older.versions
            fresh.partly = older.partly
            fresh.unsure |= older.unsure
            fresh.late |= older.late
            fresh.begun = older.begun
            if fresh.row == older.row:
                fresh.offers = tuple(dict.fromkeys((*older.offers, offer)))
            if not older.inserted:  # nothing has happened since, so either answer may be the one shown
                fresh.texts = tuple(dict.fromkeys((*older.texts, *fresh.texts)))
        else:
            self._end(older, Outcome.REJECTED)
            self.count(SHOWN, 1)
            older = None
        if fresh.late and not (older and older.late):
            self.count(SHOWN_LATE, 1)
        self._suggestions[snapshot.uri] = fresh

    def typed_into(self, snapshot: Snapshot, place: Place) -> bool:
        """Return whether the user is typing, up to this place, an unsure candidate that they asked to see."""
        suggestion = self._begun(snapshot, place)
        return suggestion is not None and suggestion.unsure

    def rest(self, snapshot: Snapshot, place: Place) -> str:
        """Return what is left of the text that was shown and that the user is typing up to this place, or "".

        Nothing is left once one of the texts is typed whole, even if another one goes on.
        """
        suggestion = self._begun(snapshot, place)
        if suggestion is None or suggestion.inserted in suggestion.texts:
            return ""
        typed = suggestion.inserted
        return next((text[len(typed) :] for text in suggestion.texts if text.startswith(typed) and text != typed), "")

    def changed(self, change: DocumentChange) -> None:
        """The document has changed."""
        for step in change.steps:
            self.deletions.edited(step)
        snapshot = change.after
        suggestion = self._suggestions.get(snapshot.uri)
        if suggestion is None or suggestion.outcome is not None:
            return
        inserted = _inserted(suggestion, snapshot)
        before = suggestion.inserted
        if inserted == before:
            return
        if inserted is None:
            self._end(suggestion, Outcome.REJECTED)
            return
        suggestion.inserted, suggestion.begun = inserted, True
        if not before.startswith(inserted):
            self._note_typed_past(snapshot.uri, suggestion)
        continues = any(text.startswith(inserted) and text != inserted for text in suggestion.texts)
        if before.startswith(inserted):  # part of it was deleted
            if not continues:
                self._end(suggestion, Outcome.REJECTED)
        elif inserted.startswith(before) and one_key_types(inserted[len(before) :]):
            if not continues:
                self._end(suggestion, Outcome.TYPED if inserted in suggestion.texts else Outcome.REJECTED)
        else:
            self._inserted_at_once(suggestion, before, inserted, continues=continues)

    def accepted(self, uri: str, version: int, index: int) -> None:
        """The editor reports an acceptance. The report may come before or after the resulting edit, or without one."""
        suggestion = self._suggestions.get(uri)
        if suggestion is None or version not in suggestion.versions or suggestion.outcome is Outcome.ACCEPTED:
            return
        text = suggestion.texts[index] if 0 <= index < len(suggestion.texts) else ""
        before = suggestion.inserted if suggestion.outcome is None else ""
        self._accept(suggestion, len(text) - common_prefix(text, before))

    def dismissed(self, snapshot: Snapshot) -> None:
        """The editor reports that the user has dismissed what is shown in a document."""
        suggestion = self._suggestions.get(snapshot.uri)
        if suggestion is None or suggestion.outcome is not None:
            return
        row, left = suggestion.front()
        if row < len(snapshot.lines) and snapshot.lines[row].startswith(left):
            here = context_of(snapshot, (row, len(left)), (row, len(left)))
            for text in suggestion.texts:
                if text.startswith(suggestion.inserted):
                    self.dismissals.dismissed(snapshot.uri, (here, text[len(suggestion.inserted) :]))
        self._end(suggestion, Outcome.DISMISSED)

    def left(self, uri: str) -> None:
        """The document was closed."""
        self._end(self._suggestions.pop(uri, None), Outcome.REJECTED)
        self.dismissals.forget(uri)
        self.deletions.forget(uri)

    def left_all(self) -> None:
        """The session ends."""
        for uri in list(self._suggestions):
            self.left(uri)

    def _begun(self, snapshot: Snapshot, place: Place) -> _Suggestion | None:
        suggestion = self._suggestions.get(snapshot.uri)
        if suggestion is None or suggestion.outcome is not None or not suggestion.begun:
            return None
        row, column = place
        return suggestion if suggestion.front() == (row, snapshot.lines[row][:column]) else None

    def _note_typed_past(self, uri: str, suggestion: _Suggestion) -> None:
        line = suggestion.left + suggestion.inserted
        for at, text in suggestion.offers:
            typed = line[len(at.left) :]
            if not (text.startswith(typed) or typed.startswith(text)):
                self.dismissals.typed_past(uri, (at, text))

    def _inserted_at_once(self, suggestion: _Suggestion, before: str, inserted: str, *, continues: bool) -> None:
        start = common_prefix(inserted, before)
        if inserted in suggestion.texts:
            self._accept(suggestion, len(inserted) - start)
        elif continues:
            if not suggestion.partly:
                suggestion.partly = True
                self.count(Outcome.PARTIAL, 1)
            self.count(CHARACTERS_SAVED, len(inserted) - start)
        else:
            # Allow further text after it: another edit that arrived at the same time, or earlier text pushed to the
            # right.
            whole = [text for text in suggestion.texts if inserted.startswith(text) and len(text) > len(before)]
            if whole:
                self._accept(suggestion, max(map(len, whole)) - start)
            else:
                self._end(suggestion, Outcome.REJECTED)

    def _accept(self, suggestion: _Suggestion, saved: int) -> None:
        if suggestion.outcome is not None:
            self.count(suggestion.outcome, -1)
        elif suggestion.partly:
            self.count(Outcome.PARTIAL, -1)
        suggestion.outcome = Outcome.ACCEPTED
        self.count(Outcome.ACCEPTED, 1)
        if suggestion.late:
            self.count(ACCEPTED_LATE, 1)
        self.count(CHARACTERS_SAVED, saved)

    def _end(self, suggestion: _Suggestion | None, outcome: Outcome) -> None:
        if suggestion is None or suggestion.outcome is not None:
            return
        if suggestion.partly:
            suggestion.outcome = Outcome.PARTIAL  # counted when it happened
        else:
            suggestion.outcome = outcome
            self.count(outcome, 1)


def _inserted(suggestion: _Suggestion, snapshot: Snapshot) -> str | None:
    """Return the current text between the two sides; None if the sides are no longer there."""
    added = len(snapshot.lines) - suggestion.lines
    if not 0 <= added <= LONGEST_LINES:
        return None
    region = "".join(snapshot.lines[suggestion.row : suggestion.row + added + 1])
    left, right = suggestion.left, suggestion.right
    if len(region) < len(left) + len(right) or not region.startswith(left) or not region.endswith(right):
        return None
    return with_plain_ends(region[len(left) : len(region) - len(right)])
