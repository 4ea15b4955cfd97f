"""The completion of the line that is being written as a next edit, for clients that show no completions themselves."""

from collections.abc import Awaitable, Callable, Sequence

from infill_engine.edits.types import Edit, Kind, Proposal, Span
from infill_engine.types import Answer
from lsp_server.documents.snapshots import Snapshot
from lsp_server.suggestions.unasked import worth_showing

Complete = Callable[[Snapshot, int], Awaitable[Answer]]  # asks for completions at a character offset


async def line_completions(complete: Complete, snapshot: Snapshot, cursor: int) -> Sequence[Proposal]:
    """Return the completions of the line at the cursor as proposals, the surest first."""
    answer = worth_showing(await complete(snapshot, cursor), explicit=False)
    place = Span(cursor, cursor, "")
    return [
        Proposal((Edit(place, one.text),), "complete the line", one.confidence, Kind.MODEL)
        for one in answer.candidates
        if one.confidence >= answer.show_from and "\n" not in one.text
    ]
