"""Why nothing is to be computed for a document. None of it costs a model call."""

from collections.abc import Sequence

from infill_engine.types import Reason
from lsp_server.documents import EditKind, Snapshot
from lsp_server.project.excludes import is_excluded
from lsp_server.settings import ServerSettings

LARGEST_SIZE = 20_000_000  # of a document that is filled in at all; characters, or bytes of a file
_WITHOUT_BEING_ASKED = {EditKind.DELETION: Reason.DELETION, EditKind.UNDO: Reason.UNDO}


def refusal(
    snapshot: Snapshot | None, settings: ServerSettings, roots: Sequence[str], unasked_in: int | None = None
) -> Reason | None:
    """The reason, None where there is none. `unasked_in` is the row of a place where nobody has asked by hand."""
    if not settings.enable:
        return Reason.DISABLED
    if snapshot is None or snapshot.size > LARGEST_SIZE:
        return Reason.UNSUPPORTED
    if not settings.allows_language(snapshot.language):
        return Reason.DISABLED
    if is_excluded(snapshot.uri, settings.excludes, roots):
        return Reason.EXCLUDED
    if unasked_in == snapshot.cursor[0]:  # the last edit was elsewhere otherwise
        return _WITHOUT_BEING_ASKED.get(snapshot.last_edit)
    return None
