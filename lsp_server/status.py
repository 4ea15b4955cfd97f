"""What the user learns about the engine: the `infill/status` notification, a progress bar, a few messages."""

import asyncio
import logging
import math
import time

from lsprotocol import types

from infill_engine.serving.protocol import State, Status
from infill_engine.types import OVERTAKEN, Reason
from lsp_server.protocol.progress import ProgressBar
from lsp_server.protocol.reasons import told
from lsp_server.protocol.wire import WireProtocol

STATUS = "infill/status"
OFF = "off"
THINKING = "thinking"
THINKING_SECONDS = 0.04  # a request that the user waits for is shown as running after this time
ELAPSED_SECONDS = 0.5  # between two notifications that differ only in the last request's time

log = logging.getLogger(__name__)


class StatusReporter:
    """Reports the engine's state and why the last request had no candidates. Each is sent only when it changes."""

    def __init__(self, protocol: WireProtocol) -> None:
        self._protocol = protocol
        self._status = Status(State.LOADING)
        self._off = False
        self._reason: Reason | None = None  # of the last answer; reset when the engine's state changes
        self._waiting = 0  # requests that the user waits for
        self._thinking = False
        self._sent: dict[str, object] = {}
        self._sent_at = -math.inf
        self._progress: ProgressBar | None = None
        self._warned: set[str] = set()
        self.last_elapsed_ms: float | None = None
        self.shows_progress = False  # whether the client supports progress

    def engine(self, status: Status) -> None:
        """The engine's state has changed."""
        self._status, self._off, self._reason = status, False, None
        self._publish()
        if status.state is State.LOADING and self.shows_progress:
            if self._progress is None:
                self._progress = ProgressBar(self._protocol, "Loading the infill model")
            self._progress.report(status.detail, status.fraction)
        elif status.state is not State.LOADING:
            self._end_progress()

    def off(self) -> None:
        """The user disabled everything."""
        self._end_progress()
        self._status, self._off, self._reason = Status(State.LOADING), True, Reason.DISABLED
        self._publish()

    def asked(self, *, waited_for: bool) -> asyncio.TimerHandle | None:
        """A request is pending. Always pass what is returned to `answered`."""
        if not waited_for:
            return None
        self._waiting += 1
        return asyncio.get_running_loop().call_later(THINKING_SECONDS, self._think)

    def answered(self, thinking: asyncio.TimerHandle | None, reason: Reason | None, elapsed_ms: float) -> None:
        """A request was answered: without candidates for this reason, or with candidates if None."""
        if thinking is not None:
            thinking.cancel()
            self._waiting -= 1
            # If another request replaces this one, keep the state without flicker.
            self._thinking = self._thinking and self._waiting > 0
        if reason not in OVERTAKEN:  # a newer request will be answered
            self.last_elapsed_ms = round(elapsed_ms, 1)
            if not self._off:
                self._reason = reason
        self._publish()

    def now(self) -> dict[str, object]:
        """Return the current content of `infill/status`."""
        status = self._status
        state = OFF if self._off else status.state.value
        return {
            "state": THINKING if self._thinking and state == State.READY.value else state,
            "detail": status.detail,
            "fraction": status.fraction,
            "model": status.model,
            "device": status.device,
            **told(self._reason),
            "lastElapsedMs": self.last_elapsed_ms,
        }

    def warn_once(self, sentence: str) -> None:
        """Show the user a warning that they can act on, unless it was shown before."""
        if sentence not in self._warned:
            self._warned.add(sentence)
            self._message(types.MessageType.Warning, sentence)

    def error(self, sentence: str) -> None:
        """Show the user an error."""
        self._message(types.MessageType.Error, sentence)

    def _message(self, kind: types.MessageType, sentence: str) -> None:
        self._protocol.notify(types.WINDOW_SHOW_MESSAGE, types.ShowMessageParams(type=kind, message=sentence))

    def _end_progress(self) -> None:
        if self._progress is not None:
            self._progress.end()
            self._progress = None

    def _think(self) -> None:
        self._thinking = True
        self._publish()

    def _publish(self) -> None:
        params = self.now()
        if params == self._sent:
            return
        moment = time.monotonic()
        soon = moment - self._sent_at < ELAPSED_SECONDS
        if soon and params == {**self._sent, "lastElapsedMs": params["lastElapsedMs"]}:
            return
        self._sent, self._sent_at = params, moment
        self._protocol.notify(STATUS, params)
