"""Where candidates go in open documents, and the engine's requests for such places."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from infill_engine.settings import WindowSettings
from infill_engine.types import AlternativesRequest, InfillRequest, ProjectText, Surroundings
from lsp_server.documents.snapshots import Snapshot, TextChange, snapshot_after
from lsp_server.engine_client.client import EngineClient
from lsp_server.protocol.positions import Place
from lsp_server.suggestions.outcomes import SuggestionTracker
from lsp_server.suggestions.workspace import Workspace

ALTERNATIVES = 8  # that the engine is asked for; invalid ones are left out afterwards


@dataclass(frozen=True, slots=True)
class Insertion:
    """Where candidates go: `lead` and a candidate replace the text from `start` to `end`, in one row."""

    snapshot: Snapshot
    start: Place
    end: Place
    lead: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether only the candidate is inserted, and nothing is replaced."""
        return not self.lead and self.start == self.end

    @property
    def where(self) -> tuple[Snapshot, Place, Place]:
        """The document and the range that is replaced."""
        return self.snapshot, self.start, self.end

    def applied(self) -> tuple[Snapshot, Place]:
        """Return the text with `lead` in place of what is replaced, and the place after it."""
        if self.is_plain:
            return self.snapshot, self.start
        edited = snapshot_after(self.snapshot, TextChange(self.lead, self.start, self.end))
        return edited, edited.cursor


@dataclass(frozen=True, slots=True)
class _Around:
    """The text that a document is part of and the row at which it begins there; the files around it, and its path."""

    text: Snapshot
    top: int
    project: ProjectText
    path: str
    window: WindowSettings


@dataclass(eq=False, slots=True)
class RequestBuilder:
    """Builds requests with as much text as the engine wants. `suggestions` says what the user is typing along."""

    workspace: Workspace
    engine: EngineClient
    suggestions: SuggestionTracker
    _last: tuple[object, InfillRequest | None] = (None, None)  # the last request, after what it was built from

    def completion(self, snapshot: Snapshot, place: Place, least: int = 0) -> InfillRequest:
        """Build the request for a place, with at least `least` candidates.

        The number is never below the setting. A request for fewer candidates then shares the answer of one for the
        usual number and gets the same first ones. If the user is typing an unsure candidate that they asked to see, the
        threshold is 0, so that it stays visible. The request that follows a speculation is the same and is not built
        again.
        """
        from lsp_server.suggestions.request_content import build_request

        settings = self.workspace.settings
        settings = replace(settings, candidates=max(least, settings.candidates))
        if self.suggestions.typed_into(snapshot, place):
            settings = replace(settings, show_threshold=0.0)
        around = self._around(snapshot)
        place = (place[0] + around.top, place[1])
        others = self.workspace.neighbours(snapshot)
        project = self.workspace.project.of(snapshot.uri)
        paths = project.paths if settings.search_project else ()
        indent = self.workspace.indents.get(snapshot.uri) or project.indent
        parts = (around.text, place, settings, others, around.project, around.window, around.path, paths, indent)
        known, request = self._last
        if request is None or known != parts:
            request = build_request(*parts)
            self._last = parts, request
        return request

    def rewrite(
        self, snapshot: Snapshot, spans: Sequence[tuple[Place, Place]], *, several_lines: bool, repeats: bool
    ) -> AlternativesRequest:
        """Build the request for alternatives to the text of some spans; see `build_rewrite`."""
        from lsp_server.suggestions.request_content import build_rewrite

        around = self._around(snapshot)
        top, rest = around.top, (around.window, around.project, around.path)
        spans = [((start[0] + top, start[1]), (end[0] + top, end[1])) for start, end in spans]
        return build_rewrite(around.text, spans, ALTERNATIVES, *rest, several_lines=several_lines, repeats=repeats)

    def context(self, snapshot: Snapshot, place: Place) -> Surroundings:
        """Return the text around a place, for the engine to read before there is a request."""
        from lsp_server.suggestions.request_content import build_context

        around = self._around(snapshot)
        place = (place[0] + around.top, place[1])
        return build_context(around.text, place, around.window, around.project, around.path)

    def _around(self, snapshot: Snapshot) -> _Around:
        workspace = self.workspace
        text, top = workspace.notebooks.around(snapshot, workspace.settings.allows_language)
        project = workspace.project_text(snapshot)
        path = workspace.path_of(snapshot.uri)
        return _Around(text, top, project, path, self.engine.status.window)
