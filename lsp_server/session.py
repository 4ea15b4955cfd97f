"""The state of one client's connection. The features are functions that take it."""

import asyncio
import logging
import sys
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from infill_engine.serving.protocol import State, Status
from infill_engine.settings import WindowSettings
from infill_engine.types import InfillRequest, Reason, Surroundings
from lsp_server.documents.notebooks import Notebooks
from lsp_server.documents.snapshots import Documents, EditKind, Snapshot
from lsp_server.engine import model_choice
from lsp_server.engine.client import EngineClient
from lsp_server.engine.link import Command, worker_command
from lsp_server.project.text import ProjectText
from lsp_server.protocol.positions import Place
from lsp_server.protocol.uris import path_in_project
from lsp_server.protocol.wire import WireProtocol
from lsp_server.settings.schema import EngineChoice, ServerSettings
from lsp_server.status import StatusReporter
from lsp_server.suggestions.dismissals import Dismissals
from lsp_server.suggestions.next_edits.tracker import NextEdits
from lsp_server.suggestions.refusal import refusal
from lsp_server.usage.counters import UsageCounters
from lsp_server.usage.suggestions import SuggestionTracker

# Changes that arrive in one burst are handled once: only the last one starts a computation.
BURST_SECONDS = 0.004
PAUSE_SECONDS = 0.1  # without another deletion, before the text around it is read
SAVING_SECONDS = 2.0  # longest wait for saving the statistics at the end; the disk may not respond
ALTERNATIVES = 8  # that the engine is asked for; those that are not valid are left out afterwards
WARMED_ROW = 30  # a window that ends here shares most of its prefix with any place near the top of the file

log = logging.getLogger(__name__)


@dataclass(eq=False)
class Session:
    """State of a connection: documents, settings, the engine, and what the client reported about itself."""

    protocol: WireProtocol
    command: Command = worker_command
    shared: bool = True  # the engine, with this user's other windows
    documents: Documents = field(default_factory=Documents)
    settings: ServerSettings = field(default_factory=ServerSettings)
    encoding: str = "utf-16"
    roots: tuple[str, ...] = ()
    first_options: object = None  # the client's initialization options
    told_options: object = field(default_factory=dict[str, object])  # settings sent since then, merged over the options
    client_process: int = 0  # process id; 0 if the client sent none
    can_pull_settings: bool = False
    can_register_settings: bool = False
    offers_completion: bool = False
    takes_document_changes: bool = False  # workspace edits with the version of each document
    shows_disabled: bool = False  # code actions that cannot be chosen, with the reason
    resolves_edits: bool = False  # asks for the edit of a code action when it is chosen
    takes_late_answers: bool = False  # asks again when it is told that there is more to show
    initialized: bool = False
    client_left: asyncio.Event = field(default_factory=asyncio.Event)  # the client's process ended without `exit`
    notebooks: Notebooks = field(init=False)
    reporter: StatusReporter = field(init=False)
    engine: EngineClient = field(init=False)
    counters: UsageCounters = field(init=False)
    suggestions: SuggestionTracker = field(init=False)
    dismissals: Dismissals = field(default_factory=Dismissals)
    next_edits: NextEdits = field(default_factory=NextEdits)
    project: ProjectText = field(default_factory=ProjectText)
    builder: Sequence[str] = (sys.executable, "-m", "lsp_server.cli.models.building")  # fetches the default model
    downloading: "tuple[int | str, asyncio.Task[tuple[str, str]]] | None" = None  # the progress's token, and the work
    told_late: tuple[Snapshot, Place, bool] | None = None  # see `lsp_server.suggestions.late_answers`
    _rested: tuple[int, Place] = (0, (0, 0))  # version of the snapshot in which the cursor last rested, and the place
    _built: tuple[object, InfillRequest | None] = (None, None)  # the last request, after what it was built from
    _timer: asyncio.TimerHandle | None = None
    _warned: set[str] = field(default_factory=set)
    _tasks: "set[asyncio.Task[None]]" = field(default_factory=set)

    def __post_init__(self) -> None:
        self.notebooks = Notebooks(self.documents)
        self.reporter = StatusReporter(self.protocol)
        self.engine = EngineClient(self._on_status, self._on_error, self.command, self.shared)
        self.counters = UsageCounters(self.warn_once)
        self.suggestions = SuggestionTracker(self.counters.count, self.dismissals)

    def refusal(self, snapshot: Snapshot | None, automatic: Place | None = None) -> Reason | None:
        """Return why a document must not be completed, or None. These checks cost no model call.

        For an automatic request, `automatic` is its place.
        """
        reason = refusal(snapshot, self.settings, self.roots, None if automatic is None else automatic[0])
        if reason is None and snapshot is not None and automatic is not None:
            return Reason.DISMISSED if self.dismissals.is_quiet(snapshot, automatic) else None
        return reason

    def speculate_soon(self, snapshot: Snapshot, arrived: float) -> None:
        """Start computing for the cursor position after the change to `snapshot`, unless another change follows."""
        self.hold_speculation()
        if self.engine.status.state is State.READY and self.refusal(snapshot, snapshot.cursor) is None:
            due = arrived + self.settings.budget_ms / 1000
            self._timer = asyncio.get_running_loop().call_later(BURST_SECONDS, self._speculate, snapshot, due)

    def warm_soon(self, snapshot: Snapshot) -> None:
        """Have the engine read the text around the last edit, unless another one follows.

        Nothing is suggested unasked after a deletion or an undo, but the user is likely to type there next.
        """
        self.hold_speculation()
        self._timer = asyncio.get_running_loop().call_later(PAUSE_SECONDS, self._warm_newest, snapshot)

    def hold_speculation(self) -> None:
        """Cancel the planned speculation or read-ahead: the place to compute for is known, or there is none."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @property
    def window(self) -> WindowSettings:
        """How much text around a hole the engine wants."""
        return self.engine.status.window

    def neighbours(self, snapshot: Snapshot) -> list[Snapshot]:
        """Return the open documents whose text may be used in a document, most recently changed first.

        Cells of the same notebook are left out: they are part of its text.
        """
        others = (o for o in self.documents.snapshots() if not self.notebooks.together(o.uri, snapshot.uri))
        return [other for other in others if self.refusal(other) is None]

    def project_near(self, snapshot: Snapshot) -> Surroundings:
        """Return text of files around a document, open or not. Stale text is returned and re-read in the background."""
        if not self.settings.search_project:
            return Surroundings()
        if self.project.is_due(snapshot.uri):
            self.in_background(self._read_project(snapshot))
        return self.project.near(snapshot.uri)

    def forget_project(self) -> None:
        """Discard the text of files that are not open."""
        self.project = ProjectText()

    def request_at(self, snapshot: Snapshot, place: Place, least: int = 0) -> InfillRequest:
        """Build the engine's request for a place, with at least `least` candidates.

        The number is never below the setting. A request for fewer candidates then shares the answer of one for the
        usual number and gets the same first ones. If the user is typing an unsure candidate that they asked to see, the
        threshold is 0, so that it stays visible. The request that follows a speculation is the same and is not built
        again.
        """
        from lsp_server.suggestions.request import build_request

        settings = replace(self.settings, candidates=max(least, self.settings.candidates))
        if self.suggestions.typed_into(snapshot, place):
            settings = replace(settings, show_threshold=0.0)
        near = self.project_near(snapshot)
        path = path_in_project(snapshot.uri, self.roots)
        whole, top = self._whole(snapshot)
        place = (place[0] + top, place[1])
        parts = (whole, place, settings, self.neighbours(snapshot), near, self.window, path)
        known, request = self._built
        if request is None or known != parts:
            request = build_request(*parts)
            self._built = parts, request
        return request

    def rewrite_of(
        self, snapshot: Snapshot, spans: Sequence[tuple[Place, Place]], *, several_lines: bool, repeats: bool
    ) -> InfillRequest:
        """Build the engine's request for alternatives to the text of some spans; see `build_rewrite`."""
        from lsp_server.suggestions.request import build_rewrite

        near, path = self.project_near(snapshot), path_in_project(snapshot.uri, self.roots)
        whole, top = self._whole(snapshot)
        spans = [((start[0] + top, start[1]), (end[0] + top, end[1])) for start, end in spans]
        return build_rewrite(
            whole, spans, ALTERNATIVES, self.window, near, path, several_lines=several_lines, repeats=repeats
        )

    def read_ahead(self, snapshot: Snapshot) -> None:
        """Parse a document when it is opened instead of at the first keystroke, then have the engine read it."""
        if self.refusal(snapshot) is None:
            snapshot.syntax.at(snapshot.lines, self._likely_place(snapshot))
            self.project_near(snapshot)
            self.warm(snapshot)

    def warm(self, snapshot: Snapshot) -> None:
        """Have the engine read the text where the user is likely to type next."""
        if self.engine.worker.running and self.refusal(snapshot) is None:
            from lsp_server.suggestions.request import build_context

            near, path = self.project_near(snapshot), path_in_project(snapshot.uri, self.roots)
            (row, column), (whole, top) = self._likely_place(snapshot), self._whole(snapshot)
            self.engine.warm(snapshot.uri, build_context(whole, (row + top, column), self.window, near, path))

    def cursor_rests(self, snapshot: Snapshot, place: Place) -> None:
        """Parse the text where the cursor has come to rest, and have the engine read it.

        Not after a worker has died: the text may have caused that, and reading ahead must not use up the restarts.
        """
        if self.refusal(snapshot) is None and self.engine.worker.trusted:
            self._rested = (snapshot.version, place)
            self.warm(snapshot)
            snapshot.syntax.at(snapshot.lines, place)

    def resolve(self, choice: EngineChoice) -> EngineChoice:
        """Return the choice in the form the worker uses, and warn the user if there is something to say about it."""
        settled, sentence = model_choice.settled(choice, self.roots)
        if sentence:
            self.warn_once(sentence)
        return settled

    def encoding_agreed(self) -> str:
        """Return the position encoding that pygls negotiated."""
        agreed = self.protocol.workspace.position_encoding
        return str(getattr(agreed, "value", agreed))

    def warn_once(self, sentence: str) -> None:
        """Show the user a warning, unless it was shown before."""
        if sentence not in self._warned:
            self._warned.add(sentence)
            self.reporter.warn(sentence)

    async def end(self) -> None:
        """Stop all computations and save the counts. Safe to call twice."""
        self.hold_speculation()
        self.suggestions.left_all()
        self.next_edits.end()
        if self.downloading is not None:
            self.downloading[1].cancel()
        saving = asyncio.ensure_future(self.counters.save())
        await asyncio.gather(self.engine.stop(), asyncio.wait((saving,), timeout=SAVING_SECONDS))

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine that no request waits for. It is never cancelled, and its faults are only logged."""
        task = asyncio.ensure_future(_logged(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read_project(self, snapshot: Snapshot) -> None:
        await self.project.read(snapshot.uri, snapshot.language, self.roots, self.settings.excludes)
        self.engine.surround(self.project.near(snapshot.uri))
        if (newest := self.documents.get(snapshot.uri)) is not None:
            self.warm(newest)  # its context refers to the current text

    def _speculate(self, snapshot: Snapshot, due: float) -> None:
        self._timer = None
        if self.documents.get(snapshot.uri) is not snapshot:
            return
        self.engine.speculate(snapshot.uri, self.request_at(snapshot, snapshot.cursor), due)

    def _warm_newest(self, snapshot: Snapshot) -> None:
        self._timer = None
        if self.documents.get(snapshot.uri) is snapshot:
            self.warm(snapshot)

    def _on_error(self, sentence: str) -> None:
        """Show the user an error. If the engine of their choice failed, continue with the default model."""
        failed = self.engine.status.state is State.FAILED
        successor = model_choice.successor(self.engine.choice, self.settings.budget_ms) if failed else None
        if successor is None:
            self.reporter.error(sentence)
            return
        self.reporter.error(f"{sentence.rstrip('.')}. Meanwhile the default model is used.")
        self.in_background(self.engine.start(successor))

    def _on_status(self, status: Status) -> None:
        self.reporter.engine(model_choice.as_shown(status, self.settings.engine))
        if status.state is State.READY and not self.engine.worker.deaths:  # the text may have killed the last worker
            for snapshot in sorted(self.documents.snapshots(), key=self._is_elsewhere)[:1]:
                self.warm(snapshot)
        if status.state is State.READY:
            near = (self.project.near(snapshot.uri) for snapshot in self.documents.snapshots())
            for surroundings in {each.name: each for each in near}.values():  # cells of a notebook share theirs
                self.engine.surround(surroundings)

    def _whole(self, snapshot: Snapshot) -> tuple[Snapshot, int]:
        """Return the text that a document is part of, and the row at which the document begins there."""
        return self.notebooks.around(snapshot, self.settings.allows_language)

    def _is_elsewhere(self, snapshot: Snapshot) -> bool:
        """Return whether the cursor last rested in a snapshot other than this one."""
        return snapshot.version != self._rested[0]

    def _likely_place(self, snapshot: Snapshot) -> Place:
        """Return where the user is likely to type next."""
        if not self._is_elsewhere(snapshot):
            return self._rested[1]
        near_the_top = (min(WARMED_ROW, len(snapshot.lines) - 1), 0)
        return near_the_top if snapshot.last_edit is EditKind.NONE else snapshot.cursor


async def _logged(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except Exception as fault:
        log.error("a background task failed: %s", type(fault).__name__)
