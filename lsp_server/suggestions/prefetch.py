"""Work before a request arrives: the engine computes for the place of the last edit, or reads the text there."""

import asyncio
from dataclasses import dataclass

from infill_engine.serving.duty_cycle import on_battery
from infill_engine.serving.protocol import State
from lsp_server.background import BackgroundTasks
from lsp_server.documents.snapshots import DocumentChange, EditKind, Snapshot
from lsp_server.protocol.positions import Place
from lsp_server.suggestions.request_builder import RequestBuilder
from lsp_server.suggestions.unasked import quiet_at

# Changes that arrive in one burst are handled once: only the last one starts a computation.
BURST_SECONDS = 0.004
PAUSE_SECONDS = 0.1  # without another deletion, before the text around it is read
FIRST_ROW = 30  # a window that ends here shares most of its prefix with any place near the top of the file


@dataclass(eq=False, slots=True)
class Prefetcher:
    """Prepares the engine for the next request."""

    requests: RequestBuilder
    background: BackgroundTasks
    _cursor: tuple[int, Place] = (0, (0, 0))  # version of the snapshot in which the cursor last rested, and the place
    _timer: asyncio.TimerHandle | None = None

    def changed(self, change: DocumentChange) -> None:
        """Prepare for the place of an edit, unless another edit follows.

        Nothing is suggested unasked after a deletion or an undo, but the user is likely to type there next. On battery,
        nothing is computed before the client asks.
        """
        self.cancel()
        snapshot = change.after
        later = asyncio.get_running_loop().call_later
        if snapshot.last_edit is not EditKind.INSERTION:
            self._timer = later(PAUSE_SECONDS, self._prefetch_newest, snapshot)
        elif self._may_speculate(snapshot):
            due = change.arrived + self.requests.workspace.settings.budget_ms / 1000
            self._timer = later(BURST_SECONDS, self._speculate, snapshot, due)

    def requested(self, snapshot: Snapshot) -> None:
        """A request is about to be made: the place to compute for is known."""
        self.cancel()
        self.read_project(snapshot)

    def cancel(self) -> None:
        """Cancel what is planned."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def opened(self, snapshot: Snapshot) -> None:
        """Parse a document when it is opened instead of at the first keystroke, then have the engine read it."""
        if self.requests.workspace.refusal(snapshot) is None:
            snapshot.syntax.at(snapshot.lines, self._likely_place(snapshot))
            self.read_project(snapshot)
            self._prefetch(snapshot)

    def cursor_rested(self, snapshot: Snapshot, place: Place) -> None:
        """Parse the text where the cursor has come to rest, and have the engine read it, but not on battery.

        Not after an engine has died: the text may have caused that, and prefetching must not use up the restarts.
        """
        if self.requests.workspace.refusal(snapshot) is None and self.requests.engine.process.trusted:
            self._cursor = (snapshot.version, place)
            if not on_battery():
                self._prefetch(snapshot)
            snapshot.syntax.at(snapshot.lines, place)

    def engine_ready(self) -> None:
        """Have a new engine read the text around the cursor and the files around all open documents."""
        workspace, engine = self.requests.workspace, self.requests.engine
        snapshots = workspace.documents.snapshots()
        if snapshots and not engine.process.deaths:  # the text may have killed the last engine
            self._prefetch(min(snapshots, key=self._is_elsewhere))
        texts = (workspace.project.of(snapshot.uri).text for snapshot in snapshots)
        for files in {each.name: each for each in texts}.values():  # cells of a notebook share theirs
            engine.index_project(files)

    def read_project(self, snapshot: Snapshot) -> None:
        """Read the files around a document in the background, unless they were read recently."""
        workspace = self.requests.workspace
        if workspace.settings.search_project and workspace.project.is_due(snapshot.uri):
            self.background.start(self._read_project(snapshot))

    async def _read_project(self, snapshot: Snapshot) -> None:
        workspace = self.requests.workspace
        await workspace.project.read(snapshot.uri, snapshot.language, workspace.roots, workspace.settings.excludes)
        self.requests.engine.index_project(workspace.project.of(snapshot.uri).text)
        if (newest := workspace.documents.get(snapshot.uri)) is not None:
            self._prefetch(newest)  # its context refers to the current text

    def _may_speculate(self, snapshot: Snapshot) -> bool:
        ready = self.requests.engine.status.state is State.READY and not on_battery()
        if not ready or self.requests.workspace.refusal(snapshot) is not None:
            return False
        return quiet_at(self.requests, snapshot, snapshot.cursor) is None

    def _speculate(self, snapshot: Snapshot, due: float) -> None:
        self._timer = None
        if self.requests.workspace.documents.is_newest(snapshot):
            self.read_project(snapshot)
            request = self.requests.completion(snapshot, snapshot.cursor)
            self.requests.engine.speculate(snapshot.uri, request, due)

    def _prefetch_newest(self, snapshot: Snapshot) -> None:
        self._timer = None
        if self.requests.workspace.documents.is_newest(snapshot):
            self._prefetch(snapshot)

    def _prefetch(self, snapshot: Snapshot) -> None:
        """Have the engine read the text where the user is likely to type next."""
        engine = self.requests.engine
        if engine.process.running and self.requests.workspace.refusal(snapshot) is None:
            self.read_project(snapshot)
            engine.prefetch(snapshot.uri, self.requests.context(snapshot, self._likely_place(snapshot)))

    def _is_elsewhere(self, snapshot: Snapshot) -> bool:
        """Return whether the cursor last rested in a snapshot other than this one."""
        return snapshot.version != self._cursor[0]

    def _likely_place(self, snapshot: Snapshot) -> Place:
        """Return where the user is likely to type next."""
        if not self._is_elsewhere(snapshot):
            return self._cursor[1]
        near_the_top = (min(FIRST_ROW, len(snapshot.lines) - 1), 0)
        return near_the_top if snapshot.last_edit is EditKind.NONE else snapshot.cursor
