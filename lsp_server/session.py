"""The state of one client's connection. The handlers are functions that take it."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from infill_engine.serving.protocol import State, Status
from lsp_server.background import BackgroundTasks
from lsp_server.client_state import ClientState
from lsp_server.engine_client import model_choice
from lsp_server.engine_client.client import EngineClient
from lsp_server.engine_client.link import Command, engine_command
from lsp_server.protocol.wire import WireProtocol
from lsp_server.settings.schema import EngineChoice
from lsp_server.status import StatusReporter
from lsp_server.suggestions.completions import Completions
from lsp_server.suggestions.late_answers import LateAnswers
from lsp_server.suggestions.next_edits.log import EditLog
from lsp_server.suggestions.next_edits.search import NextEditSearch
from lsp_server.suggestions.outcomes import SuggestionTracker
from lsp_server.suggestions.prefetch import Prefetcher
from lsp_server.suggestions.request_builder import RequestBuilder
from lsp_server.suggestions.workspace import Workspace
from lsp_server.usage.counters import UsageCounters

SAVING_SECONDS = 2.0  # longest wait for saving the statistics at the end; the disk may not respond


class Session:
    """The parts of a connection. None of them knows the session: it makes them known to each other."""

    def __init__(self, protocol: WireProtocol, command: Command = engine_command) -> None:
        self.protocol = protocol
        self.client = ClientState()
        self.workspace = Workspace()
        self.background = BackgroundTasks()
        self.reporter = StatusReporter(protocol)
        self.edit_log = EditLog()
        self.next_edits = NextEditSearch(self.edit_log, self.workspace.path_of, self.workspace.project_text)
        counters = UsageCounters(self.reporter.warn_once)
        self.engine = EngineClient(self._on_status, self._on_error, command, shared=True)
        self.suggestions = SuggestionTracker(counters.count)
        self.requests = RequestBuilder(self.workspace, self.engine, self.suggestions)
        self.prefetch = Prefetcher(self.requests, self.background)
        self.completions = Completions(self.requests, self.prefetch, self.reporter, counters)
        self.late_answers = LateAnswers(self.requests, protocol, self.client)
        self.downloading: tuple[int | str, asyncio.Task[tuple[str, str]]] | None = None  # its token; the work
        self._is_ready = False

    def bound(self, handler: Callable[..., object]) -> Callable[..., object]:
        """Return what pygls calls for a message or a command: a handler that takes this session first."""
        # Not a partial, whose remaining parameters pygls would take for the client's. The arguments are Any, because
        # pygls passes itself to a handler whose first parameter has its own type.
        if inspect.iscoroutinefunction(handler):

            async def awaited(*arguments: Any) -> object:  # begins before the next message is read
                return await handler(self, *arguments)

            return awaited
        return lambda *arguments: handler(self, *arguments)

    def resolve(self, choice: EngineChoice) -> EngineChoice:
        """Return the choice in the form the engine uses, and warn the user if there is something to say about it."""
        settled, sentence = model_choice.settled(choice, self.workspace.roots)
        if sentence:
            self.reporter.warn_once(sentence)
        return settled

    async def end(self) -> None:
        """Stop all computations and save the counts. Safe to call twice."""
        self.prefetch.cancel()
        self.suggestions.left_all()
        self.next_edits.end()
        if self.downloading is not None:
            self.downloading[1].cancel()
        saving = asyncio.ensure_future(self.completions.counters.save())
        await asyncio.gather(self.engine.stop(), asyncio.wait((saving,), timeout=SAVING_SECONDS))

    def _on_error(self, sentence: str) -> None:
        """Show the user an error. If the engine of their choice failed, continue with the default model."""
        failed = self.engine.status.state is State.FAILED
        successor = model_choice.successor(self.engine.choice) if failed else None
        if successor is None:
            self.reporter.error(sentence)
            return
        self.reporter.error(f"{sentence.rstrip('.')}. Meanwhile the default model is used.")
        self.background.start(self.engine.start(successor))

    def show_engine(self) -> None:
        """Show the engine's state, which the settings word."""
        settings = self.workspace.settings
        self.reporter.engine(model_choice.as_shown(self.engine.status, settings.engine, settings.budget_ms))

    def _on_status(self, status: Status) -> None:
        self.show_engine()
        was_ready, self._is_ready = self._is_ready, status.state is State.READY
        if self._is_ready and not was_ready:
            self.prefetch.engine_ready()
