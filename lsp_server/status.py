"""What the user sees of the engine: the notification `infill/status`, a progress bar while it loads, a few messages."""

import asyncio
import itertools
import logging
import os
from typing import TYPE_CHECKING

from lsprotocol import types

from infill_engine.types import Reason
from infill_engine.worker.protocol import State, Status

if TYPE_CHECKING:
    from lsp_server.wire import WireProtocol

STATUS = "infill/status"
OFF = "off"
# Not silences: somebody asked something newer, and that will be answered.
_UNTOLD = (Reason.SUPERSEDED, Reason.CANCELLED)

_tokens = itertools.count(1)
log = logging.getLogger(__name__)


class StatusReporter:
    """Tells the client how the engine is, and why the last request stayed unanswered; each only when it changes."""

    def __init__(self, protocol: "WireProtocol") -> None:
        self._protocol = protocol
        self._sent: dict[str, object] = {}
        self._progress: _Progress | None = None
        self.shows_progress = False  # whether the client can

    def engine(self, status: Status) -> None:
        """The worker's state has changed."""
        self._send(status.state.value, status)
        if status.state is State.LOADING and self.shows_progress:
            if self._progress is None:
                self._progress = _Progress(self._protocol)
            self._progress.report(status)
        elif self._progress is not None and status.state is not State.LOADING:
            self._progress.end()
            self._progress = None

    def off(self) -> None:
        """The user has switched everything off."""
        if self._progress is not None:
            self._progress.end()
            self._progress = None
        self._send(OFF, Status(State.LOADING), Reason.DISABLED)

    def silence(self, status: Status, reason: Reason | None) -> None:
        """A request was answered, with nothing for this reason, or with candidates for None."""
        if reason not in _UNTOLD and self._sent.get("state") != OFF:
            self._send(status.state.value, status, reason)

    def warn(self, sentence: str) -> None:
        """Show the user something to be mended."""
        self._message(types.MessageType.Warning, sentence)

    def trouble(self, sentence: str) -> None:
        """Show the user something that is broken."""
        self._message(types.MessageType.Error, sentence)

    def _message(self, kind: types.MessageType, sentence: str) -> None:
        self._protocol.notify(types.WINDOW_SHOW_MESSAGE, types.ShowMessageParams(type=kind, message=sentence))

    def _send(self, state: str, status: Status, reason: Reason | None = None) -> None:
        params = {
            "state": state,
            "detail": status.detail,
            "fraction": status.fraction,
            "model": status.model,
            "device": status.device,
            "reason": None if reason is None else reason.value,
        }
        if params != self._sent:
            self._sent = params
            self._protocol.notify(STATUS, params)


class _Progress:
    """One bar. The client is asked for it in a task of its own that nothing cancels, and may refuse."""

    def __init__(self, protocol: "WireProtocol") -> None:
        self._protocol = protocol
        self._token = f"infill-load-{os.getpid()}-{next(_tokens)}"
        self._accepted = False
        self._ended = False
        self._latest: Status | None = None
        self._asking = asyncio.ensure_future(self._ask())

    def report(self, status: Status) -> None:
        self._latest = status
        if self._accepted:
            percent = round(100 * min(max(status.fraction, 0.0), 1.0))
            self._send(types.WorkDoneProgressReport(message=status.detail or None, percentage=percent))

    def end(self) -> None:
        self._ended = True
        if self._accepted:
            self._send(types.WorkDoneProgressEnd())

    async def _ask(self) -> None:
        params = types.WorkDoneProgressCreateParams(token=self._token)
        try:
            await self._protocol.send_request_async(types.WINDOW_WORK_DONE_PROGRESS_CREATE, params)
        except Exception as fault:
            log.info("the client refused a progress bar: %s", type(fault).__name__)
            return
        if self._ended:
            return
        self._accepted = True
        self._send(types.WorkDoneProgressBegin(title="Loading the infill model", percentage=0))
        if self._latest is not None:
            self.report(self._latest)

    def _send(self, value: object) -> None:
        self._protocol.notify(types.PROGRESS, types.ProgressParams(token=self._token, value=value))
