"""Reasons not to complete in a document. These checks cost no model call."""

from collections.abc import Sequence

from infill_engine.types import Reason
from lsp_server.documents.snapshots import EditKind, Snapshot
from lsp_server.project.excludes import is_excluded
from lsp_server.settings.schema import ServerSettings

LARGEST_SIZE = 20_000_000  # largest document that is completed, in characters (bytes for a file on disk)
_REFUSED_IF_AUTOMATIC = {EditKind.DELETION: Reason.DELETION, EditKind.UNDO: Reason.UNDO}


def refusal(
    snapshot: Snapshot | None, settings: ServerSettings, roots: Sequence[str], automatic_row: int | None = None
) -> Reason | None:
    """Return the reason, or None. For an automatic request, `automatic_row` is its row."""
    if not settings.enable:
        return Reason.DISABLED
    if snapshot is None or snapshot.size > LARGEST_SIZE:
        return Reason.UNSUPPORTED
    if not settings.allows_language(snapshot.language):
        return Reason.DISABLED
    if is_excluded(snapshot.uri, settings.excludes, roots):
        return Reason.EXCLUDED
    if automatic_row == snapshot.cursor[0]:  # otherwise the last edit was elsewhere
        return _REFUSED_IF_AUTOMATIC.get(snapshot.last_edit)
    return None
