"""What the language model expects after an edit that has no exact consequence."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from infill_engine.budget.deadline import now
from infill_engine.edits.types import Diagnostic, Edit, Kind, NextEditRequest, NextEdits, Proposal, Span
from infill_engine.text.languages import related
from infill_engine.types import Answer, Eagerness
from lsp_server.documents.snapshots import Snapshot
from lsp_server.engine_client.client import EngineClient
from lsp_server.suggestions.next_edits.bursts import Burst, place_at
from lsp_server.suggestions.unasked import worth_showing


@dataclass(frozen=True, slots=True)
class ByModel:
    """How the model is asked about a `document`. Its engine lets completions go first.

    The model may take `seconds`, and a question waits `wait_seconds` for it. `on_late` is called if it finds something
    later. `complete` asks for completions at an offset, for a client that does not show them itself. `diagnostics` are
    the errors that other servers report in the document, and `project_text` is the name of the project's text around
    it. `show_from` is what the settings say of completions.
    """

    engine: EngineClient
    document: str
    seconds: float
    wait_seconds: float
    on_late: Callable[[], None] = lambda: None
    complete: Callable[[Snapshot, int], Awaitable[Answer]] | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    project_text: str = ""
    show_from: float | Eagerness = Eagerness.BALANCED

    async def ask(self, request: NextEditRequest) -> NextEdits:
        """Return what the model proposes."""
        return await self.engine.next_edits(self.document, request, now() + self.seconds)

    def request(
        self, snapshot: Snapshot, bursts: Sequence[Burst], cursor: int | None, path_of: Callable[[str], str]
    ) -> NextEditRequest | None:
        """Return what the model is asked after some bursts, oldest first; None if it is not asked.

        If one is of this document, it is the last. If none is, the model is asked about the lines around the cursor. It
        is told nothing about files in unrelated languages, or it would continue with their words. `path_of` turns a
        document's URI into its path in the project.
        """
        from infill_engine.edits.by_model.regions import past_edits

        alike, newest = related(snapshot.language), bursts[-1]
        if newest.before.language not in alike:
            return None
        row = 0 if cursor is None else place_at(snapshot.lines, cursor)[0]
        history = tuple(
            edit
            for burst in bursts
            if burst.before.language in alike
            for edit in past_edits(path_of(burst.before.uri), "".join(burst.before.lines), burst.changes)
        )
        return NextEditRequest(
            "".join(snapshot.lines),
            (newest.first, newest.last + 1) if newest.before.uri == snapshot.uri else (row, row),
            snapshot.language,
            path_of(snapshot.uri),
            history,
            cursor,
            self.diagnostics,
            self.project_text,
            self.show_from,
        )

    async def at_cursor(self, snapshot: Snapshot, cursor: int | None) -> Sequence[Proposal]:
        """Return the completions of the line that is being written as proposals, the surest first."""
        if cursor is None or self.complete is None:
            return ()
        answer = worth_showing(await self.complete(snapshot, cursor), explicit=False)
        place = Span(cursor, cursor, "")
        return [
            Proposal((Edit(place, one.text),), "complete the line", one.confidence, Kind.MODEL)
            for one in answer.candidates
            if one.confidence >= answer.show_from and "\n" not in one.text
        ]
