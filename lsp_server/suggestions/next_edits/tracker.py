"""The server's state for next edits: the user's bursts and the shown proposals, per document."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Event
from typing import TypeVar

from infill_engine.budget.deadline import now
from infill_engine.edits.types import Consequences, Diagnostic, EditedText, NoEditReason, Proposal
from infill_engine.types import ProjectText
from lsp_server.documents.snapshots import DocumentChange, EditKind, Snapshot, Step
from lsp_server.suggestions.next_edits.bursts import FORGOTTEN_SECONDS, Burst, Bursts, edited_by
from lsp_server.suggestions.next_edits.by_model import ByModel
from lsp_server.suggestions.next_edits.shown import Held, Shown

MOST_CLOSED = 4  # closed documents whose edits are remembered
PAUSE_SECONDS = 0.15  # after the last edit, before proposing anything at the place the user is typing

T = TypeVar("T")
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
    asking: "asyncio.Task[Sequence[Proposal]] | None" = None  # the model
    told: Sequence[Diagnostic] = ()  # the errors that the model was told
    overtaken: "asyncio.Future[None] | None" = None  # the question that waits for the model


@dataclass(eq=False, slots=True)
class NextEdits:
    """Tracks the edits of all open documents, and searches for their consequences on request."""

    path_of: Callable[[str], str]  # turns a document's URI into its path in the project
    project_of: Callable[[Snapshot], ProjectText] = lambda _: ProjectText()  # the files around a document
    find: Find = find
    pause_seconds: float = PAUSE_SECONDS
    _documents: dict[str, _Document] = field(default_factory=dict)
    _closed: dict[str, Bursts] = field(default_factory=dict)
    _executor: ThreadPoolExecutor | None = None

    def changed(self, change: DocumentChange) -> None:
        """Record what one notification changes in a document."""
        held = self._of(change.after.uri)
        self._overtake(held)
        for step in change.steps:
            self._record(held, step, change.arrived)
        if change.after.last_edit is EditKind.UNDO:
            held.bursts.undone()
            held.shown.clear()
            self._outdate(held)

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
        held = self._documents.pop(uri, None)
        if held is not None:
            self._outdate(held)
            self._closed[uri] = held.bursts
            for oldest in list(self._closed)[:-MOST_CLOSED]:
                del self._closed[oldest]

    def dismiss(self, uri: str, ids: list[str] | None) -> None:
        """Withdraw these proposals for good, or all that are shown."""
        if uri in self._documents:
            self._documents[uri].shown.dismiss(ids)

    async def ask(self, snapshot: Snapshot, cursor: int | None, row: int, by_model: ByModel | None = None) -> Found:
        """Return what the newest burst makes necessary. A question that a newer one or a change overtakes gets
        `SUPERSEDED`.

        `cursor` is the user's position as a character offset, and `row` its row. Where nothing is necessary, the
        answer is what `by_model` expects.
        """
        held = self._of(snapshot.uri)
        self._overtake(held)
        stop = held.stop
        reason = held.bursts.reason
        elsewhere = reason is NoEditReason.NOTHING_EDITED and self._was_edited_recently()
        if reason is not None and not elsewhere:
            return Found(snapshot, reason=reason)
        await self._pause(held, row)
        if stop.is_set():
            return Found(snapshot, reason=NoEditReason.SUPERSEDED)
        earlier = tuple(one.proposal for one in held.shown.held)
        if earlier and not held.fresh:
            return self._answer(held, snapshot, Consequences(earlier))
        found, settled = await self._exact(held, snapshot, cursor, stop)
        if by_model is not None and not (found.proposals or stop.is_set()):
            expected = list[Proposal]()
            if self._is_at_newest(held, row) and (found.half_written or not settled):
                expected = held.shown.allowed(await by_model.at_cursor(snapshot, cursor))
            if not (expected or settled or stop.is_set()):
                expected = await self._expected(held, snapshot, cursor, by_model)
            found = Consequences(tuple(expected)) if expected else found
        if stop.is_set():
            return Found(snapshot, reason=NoEditReason.SUPERSEDED)
        held.fresh = False
        more = tuple(proposal for proposal in earlier if proposal not in found.proposals)
        if more:
            found = Consequences((*found.proposals, *more))
        return self._answer(held, snapshot, found)

    def end(self) -> None:
        """Stop all searches."""
        for held in self._documents.values():
            self._outdate(held)
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)

    def _record(self, held: _Document, step: Step, at: float) -> None:
        edit = edited_by(step)
        if not edit.new and edit.start == edit.end:
            return
        announced = held.shown.edited(edit)
        goes_on = held.bursts.edited(step, edit, at, announced=announced)
        if goes_on or held.bursts.reason is NoEditReason.BULK:
            held.shown.clear()  # the proposals were based on less than this edit
        held.fresh |= not announced
        self._outdate(held)

    @staticmethod
    def _is_at_newest(held: _Document, row: int) -> bool:
        newest = held.bursts.newest
        return newest is not None and not newest.ended and newest.first <= row <= newest.last

    async def _pause(self, held: _Document, row: int) -> None:
        """If the cursor is where the user types, wait until they pause."""
        newest = held.bursts.newest
        if newest is None or not self._is_at_newest(held, row):
            return
        left = newest.at + self.pause_seconds - now()
        if left > 0:
            await asyncio.sleep(min(left, self.pause_seconds))

    async def _exact(
        self, held: _Document, snapshot: Snapshot, cursor: int | None, stop: Event
    ) -> tuple[Consequences, bool]:
        """Return what is necessary, and whether nothing else may be expected, as far as there is time."""
        found = Consequences(reason=held.bursts.reason or NoEditReason.NO_CONSEQUENCE)
        settled = held.bursts.newest is not None
        alike: Consequences | None = None  # what follows from the fewest edits as an example
        path, project = self.path_of(snapshot.uri), self.project_of(snapshot)
        bursts = held.bursts.texts(snapshot, cursor, self._history(held))
        texts = [replace(edited, path=path, project=project) for edited in bursts]
        for edited in reversed(texts):  # the newest last: it wins where two contradict each other
            held.shown.follows(edited)
        for number, edited in enumerate(texts):
            found = await self._in_thread(partial(self.find, edited, stop.is_set))
            if stop.is_set():
                break
            settled = settled if number else found.settled
            allowed = tuple(held.shown.allowed(found.proposals))
            if found.proposals and not allowed:
                found, settled = Consequences(reason=NoEditReason.DISMISSED), True
            elif allowed:
                found = replace(found, proposals=allowed)
                if allowed[0].kind.follows:
                    break
                alike = alike or found
        if alike is not None and not (found.proposals and found.proposals[0].kind.follows):
            found = alike
        elif not found.proposals and held.bursts.reason is not None:
            found = Consequences(reason=held.bursts.reason)
        return found, settled

    async def _expected(
        self, held: _Document, snapshot: Snapshot, cursor: int | None, by_model: ByModel
    ) -> list[Proposal]:
        """Return what the model proposes in time. It is asked once for a text and its errors; what it finds later is
        kept."""
        if held.asking is not None and held.told != by_model.diagnostics:
            held.asking.cancel()
            held.asking = None
        if held.asking is None:
            held.told = by_model.diagnostics
            held.asking = asyncio.ensure_future(self._by_model(held, snapshot, cursor, by_model))
        asking = held.asking
        overtaken = held.overtaken = asyncio.get_running_loop().create_future()
        await asyncio.wait((asking, overtaken), timeout=by_model.wait_seconds, return_when=asyncio.FIRST_COMPLETED)
        if overtaken.done():
            return []
        if not asking.done():
            asking.add_done_callback(partial(self._late, held, snapshot, by_model.on_late))
            return []
        if asking.cancelled():
            return []
        if asking.exception() is not None or not asking.result():
            held.asking = None  # asking again may find more: the engine may have been busy or loading
        return held.shown.allowed(asking.result())

    async def _by_model(
        self, held: _Document, snapshot: Snapshot, cursor: int | None, by_model: ByModel
    ) -> Sequence[Proposal]:
        asked = partial(by_model.request, snapshot, self._history(held), cursor, self.path_of)
        request = await self._in_thread(asked)
        return () if request is None else (await by_model.ask(request)).proposals

    @staticmethod
    def _late(
        held: _Document,
        snapshot: Snapshot,
        on_late: Callable[[], None],
        asking: "asyncio.Task[Sequence[Proposal]]",
    ) -> None:
        """Keep what the model found after the answer, and announce it."""
        if asking is not held.asking or asking.cancelled() or asking.exception() is not None or held.shown.held:
            return
        found = held.shown.allowed(asking.result())
        if found:
            held.shown.show(found, f"{snapshot.version}-")
            on_late()

    def _history(self, held: _Document) -> list[Burst]:
        """Return the bursts of all documents, oldest first; the newest of this one is the last."""
        newest = held.bursts.newest
        return sorted(self._bursts(), key=lambda burst: (burst is newest, burst.at))

    def _was_edited_recently(self) -> bool:
        """Return whether edits of any document may say what comes next."""
        since = now() - FORGOTTEN_SECONDS
        return any(burst.at >= since for burst in self._bursts())

    def _bursts(self) -> Iterator[Burst]:
        yield from (burst for each in self._documents.values() for burst in each.bursts.all)
        yield from (burst for bursts in self._closed.values() for burst in bursts.all)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        if self._executor is None:
            self._executor = ThreadPoolExecutor(1, "next-edits")
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

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
        if held.overtaken is not None and not held.overtaken.done():
            held.overtaken.set_result(None)

    def _outdate(self, held: _Document) -> None:
        """Cancel all that is under way for an older text."""
        self._overtake(held)
        if held.asking is not None:
            held.asking.cancel()
            held.asking = None
