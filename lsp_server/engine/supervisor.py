"""The worker process: started, read until it ends, and restarted.

supervision     a task that starts the worker, reads its frames until it exits, waits, and restarts it
watchdog        kills a worker that is alive but hangs; supervision treats this as a death
"""

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import infill_engine
from infill_engine.budget.deadline import now
from infill_engine.errors import WorkerError
from infill_engine.serving.protocol import Answered, Message, State, Status, decode, encode, read_frame_async
from infill_engine.types import Reason
from lsp_server.engine import watchdog
from lsp_server.engine.watchdog import Watchdog
from lsp_server.settings import EngineChoice

RESTART_SECONDS = 0.5  # after the first death; doubled after each further one
RESTART_SECONDS_MOST = 30.0
HEALTHY_SECONDS = 60.0  # once a worker has been ready this long, earlier deaths are forgotten
DEATHS = 6  # in a row; after that, only the user can restart the worker
EXIT_SECONDS = 1.0
UNREAD_BYTES = 4 * 1024 * 1024  # nothing more is sent to a worker with this much unread input

# The worker's reader thread sends these even if its compute thread hangs.
_SAYS_NOTHING_OF_LIFE = (Reason.CANCELLED, Reason.SUPERSEDED)

Command = Callable[[EngineChoice], Sequence[str]]
log = logging.getLogger(__name__)


def worker_command(choice: EngineChoice) -> Sequence[str]:
    """Return the command line that starts the worker for an engine."""
    engine = ("--model", choice.model, "--device", choice.device, "--precision", choice.precision)
    budget = ("--budget-ms", str(choice.usual_budget_ms))
    further = (*budget, "--api-key-variable", choice.key_variable, *["--reuse-context"] * choice.reuse_context)
    return (sys.executable, "-m", "infill_engine.serving", *engine, *further)


class Listener(Protocol):
    """Receives worker events. Called on the event loop; must not raise."""

    def heard(self, message: Message) -> None:
        """The worker sent a message."""

    def ended(self) -> None:
        """The worker exited; its pending requests are lost."""

    def restarting(self, *, hung: bool) -> None:
        """The worker died, or was killed because it hung. Another will be started."""

    def given_up(self, deaths: int) -> None:
        """No other worker will be started after `deaths` deaths in a row; 0 if even the first could not be started."""


@dataclass(eq=False)
class WorkerProcess:
    """Runs one worker at a time, for the engine passed to `start`."""

    listener: Listener
    command: Command = worker_command
    deaths: int = 0  # of workers, in a row
    _supervision: "asyncio.Task[None] | None" = None
    _process: asyncio.subprocess.Process | None = None
    _ready_since: float | None = None  # seconds of `deadline.now`; None if the worker has not been ready yet
    _watchdog: Watchdog = field(default_factory=Watchdog)
    _looking: asyncio.TimerHandle | None = None
    _hung: bool = False  # the worker was killed because it hung

    @property
    def pid(self) -> int | None:
        """The process id, or None if no worker runs."""
        return None if self._process is None else self._process.pid

    @property
    def running(self) -> bool:
        """Whether a worker runs or is about to start."""
        return self._supervision is not None and not self._supervision.done()

    @property
    def trusted(self) -> bool:
        """Whether no worker has died, or this one has been ready long enough to forget earlier deaths."""
        return not self.deaths or self._ready_seconds > HEALTHY_SECONDS

    def start(self, choice: EngineChoice) -> None:
        """Start a worker, and restart it whenever it dies."""
        self._supervision = asyncio.create_task(self._supervise(choice))

    async def stop(self) -> None:
        """Stop the worker."""
        task, self._supervision = self._supervision, None
        if task is not None:
            task.cancel()
            await asyncio.wait((task,), timeout=2 * EXIT_SECONDS)

    def send(self, message: Message) -> bool:
        """Send a message. Return False if no worker runs or it has too much unread input."""
        process = self._process
        if process is None or process.stdin is None or process.stdin.is_closing():
            return False
        if process.stdin.transport.get_write_buffer_size() > UNREAD_BYTES:
            return False
        try:
            process.stdin.write(encode(message))
        except (OSError, WorkerError) as fault:
            log.warning("could not send to the worker: %s", type(fault).__name__)
            return False
        return True

    def missed(self) -> None:
        """A deadline passed without an answer: check whether the worker still works."""
        if self._process is not None and self._ready_since is not None:
            self._watchdog.missed(now())
            if self._looking is None:
                self._look_later()

    async def _supervise(self, choice: EngineChoice) -> None:
        self.deaths = 0
        while True:
            self._ready_since = None
            code = await self._run_once(choice)
            self.deaths = 1 if self._ready_seconds > HEALTHY_SECONDS else self.deaths + 1
            log.warning("the worker ended with code %s", code)
            if self.deaths >= DEATHS or code is None:
                self.listener.given_up(0 if code is None and self.deaths == 1 else self.deaths)
                return
            self.listener.restarting(hung=self._hung)
            await asyncio.sleep(min(RESTART_SECONDS_MOST, RESTART_SECONDS * 2 ** (self.deaths - 1)))

    async def _run_once(self, choice: EngineChoice) -> int | None:
        """Start the worker and read its frames until it exits. Return its exit code; None if it did not start."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self.command(choice),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                # Not the editor's folder, where a file could shadow one of our modules.
                cwd=Path(infill_engine.__file__).parent.parent,
                start_new_session=os.name == "posix",  # keeps the editor's Ctrl-C from reaching it
            )
        except OSError as fault:
            log.warning("could not start the worker: %s", type(fault).__name__)
            return None
        assert process.stdout is not None
        self._process = process
        self._hung = False
        # A worker that took too long before gets more time: it may be slow rather than hung.
        self._watchdog = Watchdog(watchdog.PATIENCE_SECONDS * 2**self.deaths)
        try:
            while (payload := await read_frame_async(process.stdout)) is not None:
                if (message := decode(payload)) is not None:
                    self._receive(message)
            return await asyncio.wait_for(process.wait(), EXIT_SECONDS)
        except TimeoutError:  # it closed its pipe but did not exit
            return -1
        finally:
            self._process = None
            if self._looking is not None:
                self._looking.cancel()
                self._looking = None
            self.listener.ended()
            if process.returncode is None:
                process.kill()  # a worker has no state worth saving
                await process.wait()

    def _receive(self, message: Message) -> None:
        if isinstance(message, Status):
            if message.state is State.READY and self._ready_since is None:
                self._ready_since = now()
        elif not (isinstance(message, Answered) and message.answer.reason in _SAYS_NOTHING_OF_LIFE):
            self._watchdog.alive()
        self.listener.heard(message)

    @property
    def _ready_seconds(self) -> float:
        return 0.0 if self._ready_since is None else now() - self._ready_since

    def _look_later(self) -> None:
        self._looking = asyncio.get_running_loop().call_later(watchdog.LOOK_SECONDS, self._look)

    def _look(self) -> None:
        self._looking = None
        if self._process is None:
            return
        if self._watchdog.hangs(now()):
            log.warning("the worker has not answered %d requests and is ended", self._watchdog.misses)
            self._hung = True
            self._process.kill()
        elif self._watchdog.misses:
            self._look_later()
