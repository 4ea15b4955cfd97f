"""The server's state for next edits: the user's bursts and the shown proposals, per document."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Event

from infill_engine.budget.deadline import now
from infill_engine.edits.types import Consequences, EditedText, NoEditReason
from lsp_server.documents.snapshots import Change, EditKind, Snapshot
from lsp_server.suggestions.next_edits.bursts import Bursts, edited_by
from lsp_server.suggestions.next_edits.shown import Held, Shown

PAUSE_SECONDS = 0.15  # after the last edit, before proposing anything at the place the user is typing

Find = Callable[[EditedText, Callable[[], bool]], Consequences]


def find(edited: EditedText, stop: Callable[[], bool]) -> Consequences:
    """Find the exact consequences of an edit. The engine modules are imported on first use."""
    from infill_engine.edits.find import find_consequences

    return find_consequences(edited, stop=stop)


@dataclass(frozen=True, slots=True)
class Found:
    """The proposals for one version of a document, or why there are none."""

    snapshot: Snapshot | None
    held: tuple[Held, ...] = ()
    reason: NoEditReason | None = None


@dataclass(slots=True)
class _Document:
    bursts: Bursts = field(default_factory=Bursts)
    shown: Shown = field(default_factory=Shown)
    fresh: bool = False  # edited by the user since the last search
    stop: Event = field(default_factory=Event)  # stops the running search


@dataclass(eq=False, slots=True)
class NextEdits:
    """Tracks the edits of all open documents, and searches for their consequences on request."""

    find: Find = find
    pause_seconds: float = PAUSE_SECONDS
    _documents: dict[str, _Document] = field(default_factory=dict)
    _executor: ThreadPoolExecutor | None = None

    def edited(self, before: Snapshot, change: Change, after: Snapshot, at: float) -> None:
        """Record one change of a document."""
        held = self._of(before.uri)
        edit = edited_by(before, change, after)
        if not edit.new and edit.start == edit.end:
            return
        announced = held.shown.edited(edit)
        goes_on = held.bursts.edited(before, edit, after, at, announced=announced)
        if goes_on or held.bursts.reason is NoEditReason.BULK:
            held.shown.clear()  # the proposals were based on less than this edit
        held.fresh |= not announced
        self._overtake(held)

    def changed(self, snapshot: Snapshot) -> None:
        """All changes of one notification have been applied."""
        if snapshot.last_edit is EditKind.UNDO:
            held = self._of(snapshot.uri)
            held.bursts.undone()
            held.shown.clear()
            self._overtake(held)

    def rests(self, uri: str, row: int) -> None:
        """The cursor has come to rest in a row."""
        if uri in self._documents:
            self._documents[uri].bursts.rests(row)

    def opened(self, uri: str) -> None:
        """Reset the state of a document that was opened."""
        self.closed(uri)

    def closed(self, uri: str) -> None:
        """Drop the state of a closed document, including what was dismissed."""
        held = self._documents.pop(uri, None)
        if held is not None:
            held.stop.set()

    def dismiss(self, uri: str, ids: list[str] | None) -> int:
        """Withdraw these proposals for good, or all that are shown. Return how many were withdrawn."""
        held = self._documents.get(uri)
        if held is None:
            return 0
        return held.shown.dismiss(ids)

    async def ask(self, snapshot: Snapshot, cursor: int | None, row: int, is_newest: Callable[[], bool]) -> Found:
        """Return what the newest burst makes necessary. An older, overtaken question gets `SUPERSEDED`.

        `cursor` is the user's position as a character offset, and `row` its row. `is_newest` says whether the snapshot
        is still the document's newest.
        """
        held = self._of(snapshot.uri)
        self._overtake(held)
        stop = held.stop
        if held.bursts.reason is not None:
            return Found(snapshot, reason=held.bursts.reason)
        await self._pause(held, row)
        if stop.is_set() or not is_newest():
            return Found(snapshot, reason=NoEditReason.SUPERSEDED)
        earlier = tuple(one.proposal for one in held.shown.held)
        if earlier and not held.fresh:
            return self._answer(held, snapshot, Consequences(earlier))
        found = Consequences(reason=NoEditReason.NO_CONSEQUENCE)
        alike: Consequences | None = None  # what the fewest edits are an example for
        texts = list(held.bursts.texts(snapshot, cursor))
        for edited in reversed(texts):  # the newest last: it counts where two contradict each other
            held.shown.follows(edited)
        for edited in texts:
            found = await self._search(edited, stop)
            if stop.is_set() or not is_newest():
                return Found(snapshot, reason=NoEditReason.SUPERSEDED)
            allowed = tuple(held.shown.allowed(found.proposals))
            if found.proposals and not allowed:
                found = Consequences(reason=NoEditReason.DISMISSED)
            elif allowed:
                found = replace(found, proposals=allowed)
                if allowed[0].kind.follows:
                    break
                alike = alike or found
        if alike is not None and not (found.proposals and found.proposals[0].kind.follows):
            found = alike
        held.fresh = False
        more = tuple(proposal for proposal in earlier if proposal not in found.proposals)
        if more:
            found = Consequences((*found.proposals, *more))
        return self._answer(held, snapshot, found)

    def end(self) -> None:
        """Stop all searches."""
        for held in self._documents.values():
            held.stop.set()
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)

    async def _pause(self, held: _Document, row: int) -> None:
        """If the cursor is where the user types, wait until they pause."""
        newest = held.bursts.newest
        if newest is None or newest.ended or not newest.first <= row <= newest.last:
            return
        left = newest.at + self.pause_seconds - now()
        if left > 0:
            await asyncio.sleep(min(left, self.pause_seconds))

    async def _search(self, edited: EditedText, stop: Event) -> Consequences:
        if self._executor is None:
            self._executor = ThreadPoolExecutor(1, "next-edits")
        return await asyncio.get_running_loop().run_in_executor(self._executor, self.find, edited, stop.is_set)

    @staticmethod
    def _answer(held: _Document, snapshot: Snapshot, found: Consequences) -> Found:
        if not found.proposals:
            held.shown.clear()
            return Found(snapshot, reason=found.reason or NoEditReason.NO_CONSEQUENCE)
        return Found(snapshot, tuple(held.shown.show(found.proposals, f"{snapshot.version}-")))

    def _of(self, uri: str) -> _Document:
        return self._documents.setdefault(uri, _Document())

    @staticmethod
    def _overtake(held: _Document) -> None:
        """Cancel the running search."""
        held.stop.set()
        held.stop = Event()
