"""The search for next edits: what follows exactly, else the completion of the line, else what the model proposes.

Threads: `exact` and `ModelSearch.request` run in the search's own thread. They get values that nobody changes, and
return what they found. Only the event loop touches state: the log, what is shown, what is under way.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Event
from typing import TypeVar

from infill_engine.budget.deadline import now
from infill_engine.edits.types import MOST_PROPOSALS, Consequences, MayAsk, NextEdits, NoEditReason, Proposal
from infill_engine.types import ProjectText, Reason
from lsp_server.documents.snapshots import Snapshot
from lsp_server.suggestions.next_edits.at_cursor import Complete, line_completions
from lsp_server.suggestions.next_edits.bursts import place_at
from lsp_server.suggestions.next_edits.exact import Find, exact, find
from lsp_server.suggestions.next_edits.log import EditLog, EditState
from lsp_server.suggestions.next_edits.model_search import ModelSearch
from lsp_server.suggestions.next_edits.shown import ShownProposal

PAUSE_SECONDS = 0.15  # after the last edit, before proposing anything at the place the user is typing

# What the user learns if nothing exact follows and the model did not answer.
_WITHOUT_MODEL: dict[Reason | None, NoEditReason | None] = {
    Reason.LOADING: NoEditReason.LOADING,
    Reason.DEADLINE: NoEditReason.DEADLINE,
    Reason.WORKER_FAILED: NoEditReason.WORKER_FAILED,
}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Found:
    """The proposals for one version of a document, or why there are none."""

    proposals: tuple[ShownProposal, ...] = ()
    reason: NoEditReason | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a document. `stop` is set when a newer one or a change overtakes it.

    `cursor` is the user's position as a character offset, None if nobody types. `complete` and `model` are None if
    they are not asked.
    """

    snapshot: Snapshot
    cursor: int | None
    complete: Complete | None
    model: ModelSearch | None
    state: EditState
    stop: Event

    @property
    def is_where_user_types(self) -> bool:
        """Whether the cursor is in the newest burst."""
        row = None if self.cursor is None else place_at(self.snapshot.lines, self.cursor)[0]
        return self.state.is_at_newest(row)


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

    async def ask(
        self,
        snapshot: Snapshot,
        cursor: int | None,
        *,
        complete: Complete | None = None,
        model: ModelSearch | None = None,
    ) -> Found:
        """Return what follows from the newest edits. A question that a newer one or a change overtakes gets
        `SUPERSEDED`. The parameters are those of a `Question`.
        """
        state = self.log.of(snapshot.uri)
        question = Question(snapshot, cursor, complete, model, state, state.running.overtake())
        silent = self._why_silent(state)
        if silent is not None:
            return Found(reason=silent)
        await self._pause(question)
        if question.stop.is_set():
            return Found(reason=NoEditReason.SUPERSEDED)
        earlier = tuple(one.proposal for one in state.shown.proposals)
        if earlier and not state.fresh:
            return _shown(question, Consequences(earlier))
        found = await self._search(question)
        if question.stop.is_set():
            return Found(reason=NoEditReason.SUPERSEDED)
        state.fresh = False
        more = (proposal for proposal in earlier if proposal not in found.proposals)
        return _shown(question, replace(found, proposals=(*found.proposals, *more)[:MOST_PROPOSALS]))

    def end(self) -> None:
        """End all searches."""
        self.log.end()
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _why_silent(self, state: EditState) -> NoEditReason | None:
        """Return why nothing is searched. Edits of other documents may say what comes next in one without edits."""
        reason = state.bursts.reason
        return None if reason is NoEditReason.NOTHING_EDITED and self.log.has_recent_edits() else reason

    async def _pause(self, question: Question) -> None:
        """If the cursor is where the user types, wait until they pause."""
        newest = question.state.bursts.newest
        if newest is None or not question.is_where_user_types:
            return
        left = newest.at + self.pause_seconds - now()
        if left > 0:
            await asyncio.sleep(min(left, self.pause_seconds))

    async def _search(self, question: Question) -> Consequences:
        """Return what follows exactly, else the completion of the line at the cursor, else what the model proposes."""
        found = await self._exact(question)
        if found.proposals or question.stop.is_set():
            return found
        if found.may_ask is not MayAsk.NOBODY and question.is_where_user_types:
            completed = await self._at_cursor(question)
            if completed or question.stop.is_set():
                return replace(found, proposals=tuple(completed))
        if found.may_ask is MayAsk.MODEL and question.model is not None:
            expected = await self._from_model(question, question.model)
            proposals = question.state.shown.allowed(expected.proposals)
            return Consequences(tuple(proposals), _WITHOUT_MODEL.get(expected.reason, found.reason))
        return found

    async def _exact(self, question: Question) -> Consequences:
        """Return what follows by syntax and names."""
        state, snapshot = question.state, question.snapshot
        path, project = self.path_of(snapshot.uri), self.project_of(snapshot)
        edited = state.bursts.edited_texts(snapshot, question.cursor, self.log.history(snapshot.uri))
        others = tuple(burst.edited_text() for burst in self.log.elsewhere(snapshot.uri))
        texts = [replace(one, path=path, project=project, elsewhere=others) for one in edited]
        state.shown.record_replaced(texts)
        refusals = state.shown.refusals()
        found = await self._in_thread(partial(exact, texts, refusals, self.find, question.stop.is_set))
        return replace(found, reason=state.bursts.reason or found.reason)

    async def _at_cursor(self, question: Question) -> Sequence[Proposal]:
        """Return the completions of the line at the cursor."""
        if question.complete is None or question.cursor is None:
            return ()
        found = await line_completions(question.complete, question.snapshot, question.cursor)
        return question.state.shown.allowed(found)

    async def _from_model(self, question: Question, model: ModelSearch) -> NextEdits:
        """Return what the model proposes in time. It is asked once for a text and its errors; what it finds later is
        kept."""
        running = question.state.running
        if running.asking is not None and running.told != model.diagnostics:
            running.asking.cancel()
            running.asking = None
        if running.asking is None:
            running.told = model.diagnostics
            running.asking = asyncio.ensure_future(self._ask_model(question, model))
        asking = running.asking
        overtaken = running.overtaken = asyncio.get_running_loop().create_future()
        await asyncio.wait((asking, overtaken), timeout=model.wait_seconds, return_when=asyncio.FIRST_COMPLETED)
        if overtaken.done() or asking.cancelled():
            return NextEdits()
        if not asking.done():
            asking.add_done_callback(partial(_keep_late, question, model))
            return NextEdits(reason=Reason.DEADLINE)
        if asking.exception() is not None or not asking.result().proposals:
            running.asking = None  # asking again may find more: the engine may have been busy or loading
        return asking.result()

    async def _ask_model(self, question: Question, model: ModelSearch) -> NextEdits:
        snapshot = question.snapshot
        history = [copy(burst) for burst in self.log.history(snapshot.uri)]  # edits change the bursts of the log
        request = await self._in_thread(partial(model.request, snapshot, history, question.cursor, self.path_of))
        return NextEdits() if request is None else await model.ask(request)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)


def _keep_late(question: Question, model: ModelSearch, asking: "asyncio.Task[NextEdits]") -> None:
    """Show what the model found after the answer, and call `on_late`. The next question gets it at once."""
    state = question.state
    newest = asking is state.running.asking
    if not newest or asking.cancelled() or asking.exception() is not None or state.shown.proposals:
        return
    found = state.shown.allowed(asking.result().proposals)
    if found:
        state.shown.show(found, f"{question.snapshot.version}-")
        model.on_late()


def _shown(question: Question, found: Consequences) -> Found:
    """Show what was found in place of what is shown."""
    shown = question.state.shown
    if not found.proposals:
        shown.clear()
        return Found(reason=found.reason or NoEditReason.NO_CONSEQUENCE)
    return Found(tuple(shown.show(found.proposals, f"{question.snapshot.version}-")))
