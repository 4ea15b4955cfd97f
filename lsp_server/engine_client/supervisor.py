"""The engine's process: found or started, read until it ends, and replaced.

supervision     a task that connects, reads frames until the engine exits, waits, and connects again
watchdog        kills an engine that is alive but hangs; supervision treats this as a death

An engine over pipes is this server's own. A shared engine is found by its socket, and any of its clients may end it.
"""

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Protocol

from infill_engine.budget.deadline import now
from infill_engine.errors import EngineError
from infill_engine.serving import runtime_files
from infill_engine.serving.protocol import (
    Answered,
    Message,
    Shutdown,
    State,
    Status,
)
from infill_engine.serving.runtime_files import RuntimeFolderError
from infill_engine.types import OVERTAKEN
from lsp_server.engine_client.link import EXIT_SECONDS, Command, Link, engine_command, start_private
from lsp_server.engine_client.shared import join_shared
from lsp_server.settings.schema import EngineChoice

RESTART_SECONDS = 0.1  # after the first death; four times as long after each further one
RESTART_SECONDS_MOST = 30.0
HEALTHY_SECONDS = 60.0  # once an engine has been ready this long, earlier deaths are forgotten
DEATHS = 6  # in a row; after that, only the user can restart the engine
DIED = "The infill engine stopped unexpectedly and is being restarted."
HUNG = "The infill engine no longer answered and is being restarted."
ENDED_DELIBERATELY = -1000  # instead of an exit code
PATIENCE_SECONDS = 10.0  # without a sign of life since the first missed deadline
MISSES = 3  # missed deadlines in that time; fewer could all fall into one long encoding
LOOK_SECONDS = 1.0  # how often to call `hangs` while there are misses
SLEPT_SECONDS = 5.0  # a longer gap between two polls means that this process was suspended

log = logging.getLogger(__name__)


class Listener(Protocol):
    """Receives the engine's events. Called on the event loop; must not raise."""

    def heard(self, message: Message) -> None:
        """Handle a message from the engine."""

    def lost(self) -> None:
        """The engine exited: no request will get an answer."""

    def report(self, sentence: str, status: Status | None = None) -> None:
        """Tell the user what has happened to the engine, and its new status if that has changed."""


@dataclass(slots=True)
class Watchdog:
    """The evidence that one engine hangs, and is not just slow. Times are in seconds of `deadline.now`.

    Both processes' clocks may jump by hours when a laptop lid is closed, so a time difference alone is never evidence.
    If the watchdog itself was not polled for a while, it was suspended too and starts over.
    """

    patience: float = PATIENCE_SECONDS
    misses: int = 0  # missed deadlines since the last sign of life
    _since: float = 0.0
    _looked: float = 0.0

    def missed(self, moment: float) -> None:
        """A request's deadline passed without an answer."""
        if not self.misses:
            self._since = self._looked = moment
        self.misses += 1

    def alive(self) -> None:
        """A message arrived that only an engine with a running compute thread sends."""
        self.misses = 0

    def hangs(self, moment: float) -> bool:
        """Return whether to give the engine up. Call it regularly."""
        slept = moment - self._looked > SLEPT_SECONDS
        self._looked = moment
        if slept:
            self.misses = 0
        return self.misses >= MISSES and moment - self._since >= self.patience


@dataclass(eq=False)
class EngineProcess:
    """Runs one engine at a time, for the engine passed to `start`."""

    listener: Listener
    command: Command = engine_command
    shared: bool = False  # with the other editor windows of this user, where the system has Unix sockets
    deaths: int = 0  # of engines, in a row
    _supervision: "asyncio.Task[None] | None" = None
    link: Link | None = None
    _ready_since: float | None = None  # seconds of `deadline.now`; None if the engine has not been ready yet
    _watchdog: Watchdog = field(default_factory=Watchdog)
    _looking: asyncio.TimerHandle | None = None
    _hung: bool = False  # the engine was killed because it hung

    @property
    def pid(self) -> int | None:
        """The process id, or None if no engine runs."""
        return None if self.link is None else self.link.pid

    @property
    def running(self) -> bool:
        """Whether an engine runs or is about to start."""
        return self._supervision is not None and not self._supervision.done()

    @property
    def overdue(self) -> bool:
        """Whether the engine has missed a deadline and has given no sign of life since."""
        return self._watchdog.misses > 0

    @property
    def trusted(self) -> bool:
        """Whether no engine has died, or this one has been ready long enough to forget earlier deaths."""
        return not self.deaths or self._ready_seconds > HEALTHY_SECONDS

    def start(self, choice: EngineChoice) -> None:
        """Start an engine, and restart it whenever it dies."""
        self._supervision = asyncio.create_task(self._supervise(choice))

    async def stop(self) -> None:
        """Stop a private engine, or leave a shared engine."""
        task, self._supervision = self._supervision, None
        if task is not None:
            task.cancel()
            await asyncio.wait((task,), timeout=2 * EXIT_SECONDS)

    async def end(self) -> None:
        """End the engine itself, so that the next start loads it anew. Its other clients find the new one."""
        link = self.link
        if self.shared and link is not None:
            link.send(Shutdown())
            if not await link.has_ended(2 * EXIT_SECONDS):
                link.kill()
                await link.has_ended(EXIT_SECONDS)
        await self.stop()

    def missed(self) -> None:
        """A deadline passed without an answer: check whether the engine still works."""
        if self.link is not None and self._ready_since is not None:
            self._watchdog.missed(now())
            if self._looking is None:
                self._look_later()

    async def _supervise(self, choice: EngineChoice) -> None:
        self.deaths = 0
        while True:
            self._ready_since = None
            code = await self._run_once(choice)
            restarting = Status(State.LOADING, "restarting", 0.0, choice.model, choice.device)
            if code == ENDED_DELIBERATELY:
                self.listener.heard(restarting)
                continue
            self.deaths = 1 if self._ready_seconds > HEALTHY_SECONDS else self.deaths + 1
            log.warning("the engine ended with code %s", code)
            if self.deaths >= DEATHS or code is None:
                self._give_up(choice, started=code is not None or self.deaths > 1)
                return
            self.listener.report(HUNG if self._hung else DIED, restarting)
            await asyncio.sleep(min(RESTART_SECONDS_MOST, RESTART_SECONDS * 4 ** (self.deaths - 1)))

    def _give_up(self, choice: EngineChoice, *, started: bool) -> None:
        """Tell the user that no engine will be started unless they ask for it."""
        how = f"stopped {self.deaths} times in a row" if started else "could not be started"
        advice = f"The infill engine {how}. See the server's log, then run the command infill.restartEngine."
        self.listener.report(advice, Status(State.FAILED, advice, 0.0, choice.model, choice.device))

    async def _open(self, choice: EngineChoice) -> Link | int | None:
        """Return a link; a code if another attempt may succeed; None if not."""
        shared = self.shared and runtime_files.supported
        try:
            return await (join_shared(choice, self.command) if shared else start_private(self.command(choice)))
        except RuntimeFolderError as fault:
            log.warning("%s", fault)
            self.listener.report(str(fault))
            return None
        except (EngineError, OSError) as fault:
            log.warning("could not start the engine: %s", fault if isinstance(fault, EngineError) else fault.strerror)
            return -1 if shared else None

    async def _run_once(self, choice: EngineChoice) -> int | None:
        """Connect to the engine and read its frames until it exits.

        Return its exit code; `ENDED_DELIBERATELY` if it said that it exits; None if there is no engine.
        """
        link = await self._open(choice)
        if not isinstance(link, Link):
            return link
        self.link = link
        self._hung = False
        # An engine that took too long before gets more time: it may be slow rather than hung.
        self._watchdog = Watchdog(PATIENCE_SECONDS * 2**self.deaths)
        try:
            async for message in link.messages():
                if isinstance(message, Shutdown):
                    return ENDED_DELIBERATELY
                self._receive(message)
            return await link.exit_code()
        finally:
            self.link = None
            if self._looking is not None:
                self._looking.cancel()
                self._looking = None
            self.listener.lost()
            await link.close()

    def _receive(self, message: Message) -> None:
        if isinstance(message, Status):
            if message.state is State.READY and self._ready_since is None:
                self._ready_since = now()
        # The engine's reader thread answers what was overtaken even if its compute thread hangs.
        elif not (isinstance(message, Answered) and message.answer.reason in OVERTAKEN):
            self._watchdog.alive()
        self.listener.heard(message)

    @property
    def _ready_seconds(self) -> float:
        return 0.0 if self._ready_since is None else now() - self._ready_since

    def _look_later(self) -> None:
        self._looking = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look)

    def _look(self) -> None:
        self._looking = None
        if self.link is None:
            return
        if self._watchdog.hangs(now()):
            log.warning("the engine has not answered %d requests and is ended", self._watchdog.misses)
            self._hung = True
            self.link.kill()
        elif self._watchdog.misses:
            self._look_later()
