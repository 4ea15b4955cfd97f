"""The search for next edits: what follows exactly from the user's edits, or else what the model expects."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from infill_engine.budget.deadline import now
from infill_engine.edits.types import Consequences, EditedText, NoEditReason, Proposal
from infill_engine.types import ProjectText
from lsp_server.documents.snapshots import Snapshot
from lsp_server.suggestions.next_edits.by_model import ByModel
from lsp_server.suggestions.next_edits.log import Document, EditLog
from lsp_server.suggestions.next_edits.shown import Held, Shown

PAUSE_SECONDS = 0.15  # after the last edit, before proposing anything at the place the user is typing

T = TypeVar("T")
Find = Callable[[EditedText, Callable[[], bool]], Consequences]


def find(edited: EditedText, stop: Callable[[], bool]) -> Consequences:
    """Find the exact consequences of an edit. The engine modules are imported on first use."""
    from infill_engine.edits.find import find_consequences

    return find_consequences(edited, stop=stop)


def exact(
    texts: Sequence[EditedText], shown: Shown, find: Find = find, stop: Callable[[], bool] = lambda: False
) -> Consequences:
    """Return what follows by syntax and names from the newest edit, or from it and those before it as one.

    `texts` are as `Bursts.texts` yields them; `shown` says what the user does not want. The result is `settled` if
    nothing else may be expected. `leaves_open` says whether to ask the model.
    """
    found = Consequences(reason=NoEditReason.NO_CONSEQUENCE)
    settled = not texts
    alike: Consequences | None = None  # what follows from the fewest edits as an example
    for edited in reversed(texts):  # the newest last: it wins where two contradict each other
        shown.follows(edited)
    for number, edited in enumerate(texts):
        found = find(edited, stop)
        if stop():
            break
        settled = settled if number else found.settled
        allowed = tuple(shown.allowed(found.proposals))
        if found.proposals and not allowed:
            found, settled = Consequences(reason=NoEditReason.DISMISSED), True
        elif allowed:
            found = replace(found, proposals=allowed)
            if allowed[0].kind.follows:
                break
            alike = alike or found
    if alike is not None and not (found.proposals and found.proposals[0].kind.follows):
        found = alike
    return replace(found, settled=settled)


def leaves_open(found: Consequences) -> bool:
    """Return whether the model may expect something after what `exact` has found."""
    return not (found.proposals or found.settled)


@dataclass(frozen=True, slots=True)
class Found:
    """The proposals for one version of a document, or why there are none."""

    held: tuple[Held, ...] = ()
    reason: NoEditReason | None = None


@dataclass(eq=False, slots=True)
class NextEdits:
    """Answers questions for next edits after what is in the log.

    Exact ones are found in a thread of their own, so they come whatever the engine's process does.
    """

    log: EditLog
    path_of: Callable[[str], str]  # turns a document's URI into its path in the project
    project_of: Callable[[Snapshot], ProjectText] = lambda _: ProjectText()  # the files around a document
    find: Find = find
    pause_seconds: float = PAUSE_SECONDS
    _executor: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "next-edits"))

    async def ask(self, snapshot: Snapshot, cursor: int | None, row: int, by_model: ByModel | None = None) -> Found:
        """Return what the newest edits make necessary. A question that a newer one or a change overtakes gets
        `SUPERSEDED`.

        `cursor` is the user's position as a character offset, and `row` its row. Where nothing is necessary, the
        answer is what `by_model` expects.
        """
        held = self.log.of(snapshot.uri)
        held.running.overtake()
        stop = held.running.stop
        reason = held.bursts.reason
        elsewhere = reason is NoEditReason.NOTHING_EDITED and self.log.has_recent_edits()
        if reason is not None and not elsewhere:
            return Found(reason=reason)
        await self._pause(held, row)
        if stop.is_set():
            return Found(reason=NoEditReason.SUPERSEDED)
        earlier = tuple(one.proposal for one in held.shown.held)
        if earlier and not held.fresh:
            return _answer(held, snapshot, earlier)
        path, project = self.path_of(snapshot.uri), self.project_of(snapshot)
        edited = held.bursts.texts(snapshot, cursor, self.log.history(snapshot.uri))
        texts = [replace(one, path=path, project=project) for one in edited]
        found = await self._in_thread(partial(exact, texts, held.shown, self.find, stop.is_set))
        proposals: Sequence[Proposal] = found.proposals
        if by_model is not None and not (proposals or stop.is_set()):
            if held.is_at_newest(row) and (found.half_written or not found.settled):
                proposals = held.shown.allowed(await by_model.at_cursor(snapshot, cursor))
            if leaves_open(found) and not (proposals or stop.is_set()):
                proposals = await self._expected(held, snapshot, cursor, by_model)
        if stop.is_set():
            return Found(reason=NoEditReason.SUPERSEDED)
        held.fresh = False
        more = (proposal for proposal in earlier if proposal not in proposals)
        return _answer(held, snapshot, (*proposals, *more), held.bursts.reason or found.reason)

    def end(self) -> None:
        """End all searches."""
        self.log.end()
        self._executor.shutdown(wait=False, cancel_futures=True)

    async def _pause(self, held: Document, row: int) -> None:
        """If the cursor is where the user types, wait until they pause."""
        newest = held.bursts.newest
        if newest is None or not held.is_at_newest(row):
            return
        left = newest.at + self.pause_seconds - now()
        if left > 0:
            await asyncio.sleep(min(left, self.pause_seconds))

    async def _expected(
        self, held: Document, snapshot: Snapshot, cursor: int | None, by_model: ByModel
    ) -> list[Proposal]:
        """Return what the model proposes in time. It is asked once for a text and its errors; what it finds later is
        kept."""
        running = held.running
        if running.asking is not None and running.told != by_model.diagnostics:
            running.asking.cancel()
            running.asking = None
        if running.asking is None:
            running.told = by_model.diagnostics
            running.asking = asyncio.ensure_future(self._by_model(snapshot, cursor, by_model))
        asking = running.asking
        overtaken = running.overtaken = asyncio.get_running_loop().create_future()
        await asyncio.wait((asking, overtaken), timeout=by_model.wait_seconds, return_when=asyncio.FIRST_COMPLETED)
        if overtaken.done():
            return []
        if not asking.done():
            asking.add_done_callback(partial(_late, held, snapshot, by_model))
            return []
        if asking.cancelled():
            return []
        if asking.exception() is not None or not asking.result():
            running.asking = None  # asking again may find more: the engine may have been busy or loading
        return held.shown.allowed(asking.result())

    async def _by_model(self, snapshot: Snapshot, cursor: int | None, by_model: ByModel) -> Sequence[Proposal]:
        asked = partial(by_model.request, snapshot, self.log.history(snapshot.uri), cursor, self.path_of)
        request = await self._in_thread(asked)
        return () if request is None else await by_model.ask(request)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)


def _late(held: Document, snapshot: Snapshot, by_model: ByModel, asking: "asyncio.Task[Sequence[Proposal]]") -> None:
    """Keep what the model found after the answer, and announce it."""
    newest = asking is held.running.asking
    if not newest or asking.cancelled() or asking.exception() is not None or held.shown.held:
        return
    found = held.shown.allowed(asking.result())
    if found:
        held.shown.show(found, f"{snapshot.version}-")
        by_model.on_late()


def _answer(
    held: Document, snapshot: Snapshot, proposals: Sequence[Proposal], reason: NoEditReason | None = None
) -> Found:
    if not proposals:
        held.shown.clear()
        return Found(reason=reason or NoEditReason.NO_CONSEQUENCE)
    return Found(tuple(held.shown.show(proposals, f"{snapshot.version}-")))
