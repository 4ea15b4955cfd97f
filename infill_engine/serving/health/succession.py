"""A process of the engine is succeeded by another one, while its clients go on asking.

    old   starts the new process with its own command line and `--succeeds`
    new   loads and warms up its model; takes the lock of the socket; listens at another path and renames it over the
          old socket, if that is still the old process's; says so through a pipe
    old   tells its clients to move, answers what they have asked, and exits when they have left

If the new process fails, the old one goes on as if nothing had happened.
"""

import contextlib
import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from infill_engine.serving.file_lock import locked
from infill_engine.serving.health.health import Health
from infill_engine.serving.runtime_files import LOCK_SECONDS
from infill_engine.stderr import say

SUCCEEDS = "--succeeds"
DONE = b"1"
MOST_CLIENTS = 64


@dataclass(frozen=True, slots=True)
class Predecessor:
    """What a process is told about the one that it succeeds: its socket, and where to say that it has taken over."""

    socket_id: str
    pipe: int

    @classmethod
    def parse(cls, text: str) -> "Predecessor":
        """Read the value of `--succeeds`. Raises ValueError."""
        socket_id, _, pipe = text.rpartition(":")
        return cls(socket_id, int(pipe))

    def succeeded(self) -> None:
        """Tell the old process. It may have ended meanwhile."""
        with contextlib.suppress(OSError):
            os.write(self.pipe, DONE)
            os.close(self.pipe)


def socket_id(path: Path) -> str:
    """Return what identifies the socket at a path, which is not its name; "" if there is none."""
    try:
        found = path.lstat()
    except OSError:
        return ""
    return f"{found.st_dev}.{found.st_ino}.{found.st_mtime_ns}"


def listen(path: Path) -> socket.socket:
    """Return a socket that listens at a path where there is nothing. Raises OSError."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen(MOST_CLIENTS)
    return listener


def take_over(path: Path, predecessor: Predecessor) -> socket.socket | None:
    """Listen in place of the predecessor; None if another engine does so already. Raises OSError, TimeoutError."""
    with locked(path, LOCK_SECONDS):
        if socket_id(path) != predecessor.socket_id:
            return None
        beside = path.with_suffix(".next")
        beside.unlink(missing_ok=True)
        listener = listen(beside)
        beside.replace(path)
        return listener


@dataclass
class Successor:
    """The process that is to succeed this one."""

    process: "subprocess.Popen[bytes]"
    pipe: int

    @classmethod
    def start(cls, path: Path) -> "Successor":
        """Start it with this process's command line. Raises OSError."""
        command = sys.orig_argv[: sys.orig_argv.index(SUCCEEDS)] if SUCCEEDS in sys.orig_argv else sys.orig_argv
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        try:
            process = subprocess.Popen(
                [sys.executable, *command[1:], SUCCEEDS, f"{socket_id(path)}:{writing}"],
                stdin=subprocess.DEVNULL,
                pass_fds=(writing,),
                start_new_session=True,  # it outlives this process
            )
        finally:
            os.close(writing)
        return cls(process, reading)

    def has_taken_over(self) -> bool | None:
        """Return whether it has the socket now; None if that is not decided yet."""
        try:
            said = os.read(self.pipe, len(DONE))
        except BlockingIOError:
            return None
        except OSError:
            return False
        return said == DONE

    def give_up(self) -> None:
        """End it, because it is not needed or has failed."""
        self.process.kill()
        self.process.wait()
        os.close(self.pipe)


@dataclass
class Replacement:
    """Starts a successor when this process's health demands it. Not thread-safe."""

    health: Health
    path: Path
    _successor: Successor | None = None

    def is_done(self) -> bool:
        """Look after it. Return whether a successor has the socket."""
        if self._successor is None:
            if reason := self.health.reason():
                self._start(reason)
            return False
        done = self._successor.has_taken_over()
        if done:
            self._successor = None
        if done is False:
            self.health.log("successor failed")
            say("infill engine: its successor has failed; it goes on")
            self.end()
            self.health.failed()
        return bool(done)

    def end(self) -> None:
        """End a successor that does not have the socket yet."""
        if self._successor is not None:
            self._successor.give_up()
            self._successor = None

    def _start(self, reason: str) -> None:
        say(f"infill engine: starts a successor: {reason}")
        self.health.log("successor started", reason=reason)
        try:
            self._successor = Successor.start(self.path)
        except OSError:
            self.health.failed()
