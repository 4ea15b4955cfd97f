"""What suggestions may see: the open documents, the files around them, and the settings that apply."""

from dataclasses import dataclass, field

from infill_engine.types import ProjectText, Reason
from lsp_server.documents.notebooks import Notebooks
from lsp_server.documents.snapshots import Documents, Snapshot
from lsp_server.project.excludes import is_excluded
from lsp_server.project.text import ProjectTexts
from lsp_server.protocol.uris import path_in_project
from lsp_server.settings.schema import ServerSettings

LARGEST_SIZE = 20_000_000  # largest document that is completed, in characters (bytes for a file on disk)


@dataclass(eq=False, slots=True)
class Workspace:
    """The documents and files of a connection.

    `roots` are the paths of the workspace folders, `indents` a level of indentation of each document whose editor says
    it.
    """

    settings: ServerSettings = field(default_factory=ServerSettings)
    roots: tuple[str, ...] = ()
    documents: Documents = field(default_factory=Documents)
    notebooks: Notebooks = field(init=False)
    indents: dict[str, str] = field(default_factory=dict)
    project: ProjectTexts = field(default_factory=ProjectTexts)
    # For each document: the version, the settings and the folders that were looked at, and the reason.
    _refusals: dict[str, tuple[object, Reason | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.notebooks = Notebooks(self.documents)

    def refusal(self, snapshot: Snapshot | None) -> Reason | None:
        """Return why nothing is suggested in a document, or None. This is decided once for each of its versions.

        See `unasked.quiet_at` for single places.
        """
        if snapshot is None:
            return Reason.UNSUPPORTED if self.settings.enable else Reason.DISABLED
        now = (snapshot.version, self.settings, self.roots)
        looked_at, reason = self._refusals.get(snapshot.uri, (None, None))
        if looked_at != now:
            reason = refusal(snapshot, self.settings, self.roots)
            self._refusals[snapshot.uri] = now, reason
        return reason

    def path_of(self, uri: str) -> str:
        """Return a document's path relative to its workspace folder; "" if it is in none."""
        return path_in_project(uri, self.roots)

    def project_text(self, snapshot: Snapshot) -> ProjectText:
        """Return the text of the files around a document, as far as the settings allow reading it."""
        return self.project.of(snapshot.uri).text if self.settings.search_project else ProjectText()

    def neighbours(self, snapshot: Snapshot) -> list[Snapshot]:
        """Return the open documents whose text may be used in a document, most recently changed first.

        Cells of the same notebook are left out: they are part of its text.
        """
        others = (one for one in self.documents.snapshots() if not self.notebooks.together(one.uri, snapshot.uri))
        return [other for other in others if self.refusal(other) is None]

    def close(self, uri: str) -> bool:
        """Close a document once. Return whether it was forgotten: it may be open in another window."""
        if not self.documents.close(uri):
            return False
        self.project.forget(uri)
        self.indents.pop(uri, None)
        self._refusals.pop(uri, None)
        return True


def refusal(snapshot: Snapshot, settings: ServerSettings, roots: tuple[str, ...] = ()) -> Reason | None:
    """Return why nothing is suggested in a document, or None. No place in it matters, and no model is asked."""
    if not settings.enable:
        return Reason.DISABLED
    if snapshot.size > LARGEST_SIZE:
        return Reason.UNSUPPORTED
    if not settings.allows_language(snapshot.language):
        return Reason.DISABLED
    return Reason.EXCLUDED if is_excluded(snapshot.uri, settings.excludes, roots) else None
