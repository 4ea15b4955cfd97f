"""What the language model expects after an edit that has no exact consequence."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from infill_engine.edits.types import Edit, Kind, Proposal, Span
from infill_engine.text.languages import related
from infill_engine.types import Answer, Diagnostic, InfillRequest, PastEdit
from lsp_server.documents.snapshots import Snapshot
from lsp_server.suggestions.answers import worth_showing
from lsp_server.suggestions.next_edits.bursts import Burst, place_at

T = TypeVar("T")


class InThread(Protocol):
    """Runs work in a thread, one piece after the other."""

    async def __call__(self, work: Callable[[], T], /) -> T: ...


@dataclass(frozen=True, slots=True)
class ByModel:
    """How the model is asked. Its engine lets completions go first.

    `wait_seconds` is how long a question waits for it. `on_late` is called if it finds something later. `path_of`
    turns a document's URI into its path in the project. `complete` asks for completions at an offset, for a client that
    does not show them itself. `diagnostics` are the errors that other servers report in the document, and
    `project_text` is the name of the project's text around it.
    """

    ask: Callable[[InfillRequest], Awaitable[Answer]]
    path_of: Callable[[str], str]
    wait_seconds: float
    on_late: Callable[[], None]
    complete: Callable[[Snapshot, int], Awaitable[Answer]] | None = None
    diagnostics: Sequence[Diagnostic] = ()
    project_text: str = ""

    async def proposals(
        self, snapshot: Snapshot, bursts: Sequence[Burst], cursor: int | None, in_thread: InThread
    ) -> Sequence[Proposal]:
        """Return what the model proposes after some bursts, oldest first. If one is of this document, it is the last.

        If none is, the model is asked about the lines around the cursor. It is told nothing about files in unrelated
        languages, or it would continue with their words.
        """
        from infill_engine.edits.by_model import Region, proposals_of, requests_for

        alike = related(snapshot.language)
        if bursts[-1].before.language not in alike:
            return ()
        bursts = [burst for burst in bursts if burst.before.language in alike]
        text, language, newest = "".join(snapshot.lines), snapshot.language, bursts[-1]
        row = None if cursor is None else place_at(snapshot.lines, cursor)[0]
        rows = (newest.first, newest.last + 1) if newest.before.uri == snapshot.uri else (row or 0, row or 0)
        path = self.path_of(snapshot.uri)

        def ask_about() -> list[tuple[Region, InfillRequest]]:
            told = self._told(bursts)
            return requests_for(text, rows, language, path, told, self.diagnostics, self.project_text, row)

        for region, request in await in_thread(ask_about):
            candidates = (await self.ask(request)).candidates
            found = await in_thread(partial(proposals_of, text, language, region, candidates, cursor, request.history))
            if found:
                return found
        return ()

    async def at_cursor(self, snapshot: Snapshot, cursor: int | None) -> Sequence[Proposal]:
        """Return the completions of the line that is being written as proposals, the surest first."""
        if cursor is None or self.complete is None:
            return ()
        answer = worth_showing(await self.complete(snapshot, cursor), unsure=False)
        place = Span(cursor, cursor, "")
        return [
            Proposal((Edit(place, one.text),), "complete the line", one.confidence, Kind.MODEL)
            for one in answer.candidates
            if one.confidence >= answer.show_from and "\n" not in one.text
        ]

    def _told(self, bursts: Iterable[Burst]) -> list[PastEdit]:
        from infill_engine.edits.by_model import past_edits

        return [
            edit
            for burst in bursts
            for edit in past_edits(self.path_of(burst.before.uri), "".join(burst.before.lines), burst.changes)
        ]
