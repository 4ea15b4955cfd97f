"""The search for next edits: what follows exactly from the user's edits, or else what the model expects."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from infill_engine.budget.deadline import now
from infill_engine.edits.types import MOST_PROPOSALS, Consequences, EditedText, NextEdits, NoEditReason, Proposal
from infill_engine.types import ProjectText, Reason
from lsp_server.documents.snapshots import Snapshot
from lsp_server.suggestions.next_edits.by_model import ByModel
from lsp_server.suggestions.next_edits.log import EditLog, EditState
from lsp_server.suggestions.next_edits.shown import Shown, ShownProposal

PAUSE_SECONDS = 0.15  # after the last edit, before proposing anything at the place the user is typing

# What the user learns if nothing exact follows and the model did not answer.
_WITHOUT_MODEL: dict[Reason | None, NoEditReason | None] = {
    Reason.LOADING: NoEditReason.LOADING,
    Reason.DEADLINE: NoEditReason.DEADLINE,
    Reason.WORKER_FAILED: NoEditReason.WORKER_FAILED,
}

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
    by_example: Consequences | None = None  # what follows from the fewest edits as an example
    for edited in reversed(texts):  # the newest last: it wins where two contradict each other
        shown.record_replaced(edited)
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
            if allowed[0].kind.is_consequence:
                break
            by_example = by_example or found
    if by_example is not None and not (found.proposals and found.proposals[0].kind.is_consequence):
        found = by_example
    return replace(found, settled=settled)


def leaves_open(found: Consequences) -> bool:
    """Return whether the model may expect something after what `exact` has found."""
    return not (found.proposals or found.settled)


@dataclass(frozen=True, slots=True)
class Found:
    """The proposals for one version of a document, or why there are none."""

    proposals: tuple[ShownProposal, ...] = ()
    reason: NoEditReason | None = None


@dataclass(eq=False, slots=True)
class NextEditSearch:
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
        state = self.log.of(snapshot.uri)
        state.running.overtake()
        stop = state.running.stop
        reason = state.bursts.reason
        elsewhere = reason is NoEditReason.NOTHING_EDITED and self.log.has_recent_edits()
        if reason is not None and not elsewhere:
            return Found(reason=reason)
        await self._pause(state, row)
        if stop.is_set():
            return Found(reason=NoEditReason.SUPERSEDED)
        earlier = tuple(one.proposal for one in state.shown.proposals)
        if earlier and not state.fresh:
            return _answer(state, snapshot, earlier)
        path, project = self.path_of(snapshot.uri), self.project_of(snapshot)
        edited = state.bursts.texts(snapshot, cursor, self.log.history(snapshot.uri))
        others = tuple(burst.text() for burst in self.log.elsewhere(snapshot.uri))
        texts = [replace(one, path=path, project=project, elsewhere=others) for one in edited]
        found = await self._in_thread(partial(exact, texts, state.shown, self.find, stop.is_set))
        proposals: Sequence[Proposal] = found.proposals
        why_not = state.bursts.reason or found.reason
        if by_model is not None and not (proposals or stop.is_set()):
            if state.is_at_newest(row) and (found.half_written or not found.settled):
                proposals = state.shown.allowed(await by_model.at_cursor(snapshot, cursor))
            if leaves_open(found) and not (proposals or stop.is_set()):
                expected = await self._expected(state, snapshot, cursor, by_model)
                proposals = state.shown.allowed(expected.proposals)
                why_not = _WITHOUT_MODEL.get(expected.reason, why_not)
        if stop.is_set():
            return Found(reason=NoEditReason.SUPERSEDED)
        state.fresh = False
        more = (proposal for proposal in earlier if proposal not in proposals)
        return _answer(state, snapshot, (*proposals, *more)[:MOST_PROPOSALS], why_not)

    def end(self) -> None:
        """End all searches."""
        self.log.end()
        self._executor.shutdown(wait=False, cancel_futures=True)

    async def _pause(self, state: EditState, row: int) -> None:
        """If the cursor is where the user types, wait until they pause."""
        newest = state.bursts.newest
        if newest is None or not state.is_at_newest(row):
            return
        left = newest.at + self.pause_seconds - now()
        if left > 0:
            await asyncio.sleep(min(left, self.pause_seconds))

    async def _expected(self, state: EditState, snapshot: Snapshot, cursor: int | None, by_model: ByModel) -> NextEdits:
        """Return what the model proposes in time. It is asked once for a text and its errors; what it finds later is
        kept."""
        running = state.running
        if running.asking is not None and running.told != by_model.diagnostics:
            running.asking.cancel()
            running.asking = None
        if running.asking is None:
            running.told = by_model.diagnostics
            running.asking = asyncio.ensure_future(self._by_model(snapshot, cursor, by_model))
        asking = running.asking
        overtaken = running.overtaken = asyncio.get_running_loop().create_future()
        await asyncio.wait((asking, overtaken), timeout=by_model.wait_seconds, return_when=asyncio.FIRST_COMPLETED)
        if overtaken.done() or asking.cancelled():
            return NextEdits()
        if not asking.done():
            asking.add_done_callback(partial(_late, state, snapshot, by_model))
            return NextEdits(reason=Reason.DEADLINE)
        if asking.exception() is not None or not asking.result().proposals:
            running.asking = None  # asking again may find more: the engine may have been busy or loading
        return asking.result()

    async def _by_model(self, snapshot: Snapshot, cursor: int | None, by_model: ByModel) -> NextEdits:
        asked = partial(by_model.request, snapshot, self.log.history(snapshot.uri), cursor, self.path_of)
        request = await self._in_thread(asked)
        return NextEdits() if request is None else await by_model.ask(request)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)


def _late(state: EditState, snapshot: Snapshot, by_model: ByModel, asking: "asyncio.Task[NextEdits]") -> None:
    """Keep what the model found after the answer, and announce it."""
    newest = asking is state.running.asking
    if not newest or asking.cancelled() or asking.exception() is not None or state.shown.proposals:
        return
    found = state.shown.allowed(asking.result().proposals)
    if found:
        state.shown.show(found, f"{snapshot.version}-")
        by_model.on_late()


def _answer(
    state: EditState, snapshot: Snapshot, proposals: Sequence[Proposal], reason: NoEditReason | None = None
) -> Found:
    if not proposals:
        state.shown.clear()
        return Found(reason=reason or NoEditReason.NO_CONSEQUENCE)
    return Found(tuple(state.shown.show(proposals, f"{snapshot.version}-")))
