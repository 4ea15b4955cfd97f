"""Asks the language model for the next edits after an edit that has no exact consequence."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from infill_engine.budget.deadline import now
from infill_engine.edits.types import MOST_REGIONS, Diagnostic, NextEditRequest, NextEdits
from infill_engine.text.languages import related
from infill_engine.types import Eagerness
from lsp_server.documents.snapshots import Snapshot
from lsp_server.engine_client.client import EngineClient
from lsp_server.suggestions.next_edits.bursts import Burst, place_at

REGION_SECONDS = 2.0  # what a region adds to the deadline of the request, unless the user's budget is longer


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSearch:
    """How the model is asked about a `document`. Its engine lets completions go first.

    The model may take `seconds` for all regions together, and a question waits `wait_seconds` for it. `on_late` is
    called if it finds something later. `diagnostics` are the errors that other servers report in the document, and
    `project_name` is the name of the project's text around it. `show_from` is what the settings say of completions.
    """

    engine: EngineClient
    document: str
    seconds: float
    wait_seconds: float
    on_late: Callable[[], None] = lambda: None
    diagnostics: tuple[Diagnostic, ...] = ()
    project_name: str = ""
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
            self.project_name,
            self.show_from,
        )


def seconds_for(budget_seconds: float, *, shows_late: bool) -> tuple[float, float]:
    """Return how long the model may take for all regions, and how long a question waits for it, both in seconds.

    `budget_seconds` is the user's for an explicit request. A client that `shows_late` proposals waits no longer.
    """
    region = max(budget_seconds, REGION_SECONDS)
    return MOST_REGIONS * region, budget_seconds if shows_late else region
