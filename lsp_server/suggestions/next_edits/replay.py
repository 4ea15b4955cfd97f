"""Next edits for a client that sends its last edits with each request, instead of when they are made."""

from collections.abc import Iterable

from lsp_server.documents.snapshots import Change, Snapshot
from lsp_server.suggestions.next_edits.bursts import BULK_SECONDS
from lsp_server.suggestions.next_edits.tracker import NextEdits


def replayed(edits: Iterable[tuple[Snapshot, Change, Snapshot]]) -> NextEdits:
    """Return a tracker that has seen these edits. Each has the document before and after it. The oldest comes first.

    Their times are unknown, so each counts as made alone. The caller must call `end`.
    """
    tracker = NextEdits(pause_seconds=0)
    for number, (before, change, after) in enumerate(edits):
        tracker.edited(before, change, after, 2 * BULK_SECONDS * number)
        tracker.changed(after)
    return tracker
