"""The log of the user's edits, and the proposals that are shown, for each document."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from threading import Event

from infill_engine.budget.deadline import now
from infill_engine.edits.types import Diagnostic, NextEdits, NoEditReason
from lsp_server.documents.snapshots import DocumentChange, EditKind, EditStep
from lsp_server.suggestions.next_edits.bursts import FORGOTTEN_SECONDS, Burst, Bursts, edited_by
from lsp_server.suggestions.next_edits.shown import Shown

MOST_CLOSED = 4  # closed documents whose edits are remembered
MOST_ELSEWHERE = 2  # other documents whose edits are followed up


@dataclass(slots=True)
class Running:
    """What is under way for a document."""

    stop: Event = field(default_factory=Event)  # stops the search for what is exact
    asking: "asyncio.Task[NextEdits] | None" = None  # the model
    told: Sequence[Diagnostic] = ()  # the errors that the model was told
    overtaken: "asyncio.Future[None] | None" = None  # the question that waits for the model

    def overtake(self) -> Event:
        """End the question that waits, and return what stops the next one. The model goes on: what it finds is kept."""
        self.stop.set()
        self.stop = Event()
        if self.overtaken is not None and not self.overtaken.done():
            self.overtaken.set_result(None)
        return self.stop

    def outdate(self) -> None:
        """End all that is under way for an older text."""
        self.overtake()
        if self.asking is not None:
            self.asking.cancel()
            self.asking = None


@dataclass(slots=True)
class EditState:
    """What is known of a document."""

    bursts: Bursts = field(default_factory=Bursts)
    shown: Shown = field(default_factory=Shown)
    fresh: bool = False  # edited by the user since the last search
    running: Running = field(default_factory=Running)

    def is_at_newest(self, row: int | None) -> bool:
        """Return whether a row is where the user types."""
        newest = self.bursts.newest
        return row is not None and newest is not None and not newest.ended and newest.first <= row <= newest.last

    def record(self, step: EditStep, at: float) -> None:
        """Record a change that was made at this time. It accepts a proposal if it is one of its edits."""
        edit = edited_by(step)
        if not edit.new and edit.start == edit.end:
            return
        accepted = self.shown.edited(edit)
        goes_on = self.bursts.edited(step, edit, at, accepted=accepted)
        if goes_on or self.bursts.reason is NoEditReason.BULK:
            self.shown.clear()  # the proposals were based on less than this edit
        self.fresh |= not accepted
        self.running.outdate()


@dataclass(eq=False, slots=True)
class EditLog:
    """The edits of all documents, and what is shown in them."""

    _documents: dict[str, EditState] = field(default_factory=dict)
    _closed: dict[str, Bursts] = field(default_factory=dict)

    def of(self, uri: str) -> EditState:
        """Return a document's part."""
        return self._documents.setdefault(uri, EditState())

    def changed(self, change: DocumentChange) -> None:
        """Record what one notification changes in a document."""
        state = self.of(change.after.uri)
        state.running.overtake()
        for step in change.steps:
            state.record(step, change.arrived)
        if change.after.last_edit is EditKind.UNDO:
            state.bursts.undone()
            state.shown.clear()
            state.running.outdate()

    def rests(self, uri: str, row: int) -> None:
        """The cursor has come to rest in a row."""
        if uri in self._documents:
            self._documents[uri].bursts.rests(row)

    def opened(self, uri: str) -> None:
        """Reset the state of a document that was opened. Its text may be older than the edits before."""
        self.closed(uri)
        self._closed.pop(uri, None)

    def closed(self, uri: str) -> None:
        """Drop the state of a closed document, including what was dismissed. Its edits can still be repeated."""
        state = self._documents.pop(uri, None)
        if state is not None:
            state.running.outdate()
            self._closed[uri] = state.bursts
            for oldest in list(self._closed)[:-MOST_CLOSED]:
                del self._closed[oldest]

    def dismiss(self, uri: str, ids: list[str] | None) -> None:
        """Withdraw these proposals for good, or all that are shown."""
        if uri in self._documents:
            self._documents[uri].shown.dismiss(ids)

    def end(self) -> None:
        """End all that is under way."""
        for state in self._documents.values():
            state.running.outdate()

    def history(self, uri: str) -> list[Burst]:
        """Return the bursts of all documents, oldest first; the newest of this one is the last."""
        newest = self.of(uri).bursts.newest
        return sorted(self._bursts(), key=lambda burst: (burst is newest, burst.at))

    def elsewhere(self, uri: str) -> list[Burst]:
        """Return the newest burst of each other open document, if it is newer than those of this one; newest first."""
        own = self.of(uri).bursts.newest
        since = max(now() - FORGOTTEN_SECONDS, 0.0 if own is None else own.at)
        newest = (each.bursts.newest for other, each in self._documents.items() if other != uri)
        found = [burst for burst in newest if burst is not None and burst.at > since]
        return sorted(found, key=lambda burst: -burst.at)[:MOST_ELSEWHERE]

    def has_recent_edits(self) -> bool:
        """Return whether edits of any document may say what comes next."""
        since = now() - FORGOTTEN_SECONDS
        return any(burst.at >= since for burst in self._bursts())

    def _bursts(self) -> Iterator[Burst]:
        yield from (burst for each in self._documents.values() for burst in each.bursts.all)
        yield from (burst for bursts in self._closed.values() for burst in bursts.all)
