"""Finds the engine that all editor windows of a user share, or starts it."""

import asyncio
import contextlib
import logging
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from infill_engine.errors import EngineError
from infill_engine.models.checkpoint.user_data import state_folder
from infill_engine.serving.frames import MAX_FRAME_BYTES, decode, encode
from infill_engine.serving.protocol import PROTOCOL, Hello, Welcome
from infill_engine.serving.runtime_files import (
    LOCK_SECONDS,
    is_safe,
    locked,
    package_version,
    peer_pid,
    runtime_folder,
    socket_path,
)
from lsp_server.engine_client.link import WORKING_FOLDER, Command, Link, engine_options, kill
from lsp_server.settings.schema import EngineChoice

WELCOME_SECONDS = 5.0  # an engine that takes longer to greet a client hangs
START_SECONDS = 20.0  # until a new engine listens; it loads its model afterwards
RETRY_SECONDS = 0.01
ATTEMPTS = 3  # an engine may exit while a client joins
LARGEST_LOG_BYTES = 1_000_000
IDLE_SECONDS, LOG_FOLDER = "INFILL_ENGINE_IDLE_SECONDS", "INFILL_ENGINE_LOG"
# What an engine needs of the environment of the client that starts it.
PASSED_ON = frozenset("PATH HOME USER LOGNAME LANG TZ TMPDIR TEMP TMP PYTHONPATH VIRTUAL_ENV LD_LIBRARY_PATH".split())
PASSED_PREFIXES = tuple("INFILL_ LC_ OMP_ GOMP_ MKL_ OPENBLAS_ ONEDNN_ CUDA_ NVIDIA_ HF_ XDG_ SSL_".split())

log = logging.getLogger(__name__)


async def join_shared(choice: EngineChoice, command: Command) -> Link:
    """Return a link to the shared engine with these settings; start it if there is none.

    Raises RuntimeFolderError, which says what to do, EngineError or OSError.
    """
    connection, pid = await asyncio.to_thread(_join, choice, command(choice))
    reader, writer = await asyncio.open_connection(sock=connection)
    return Link(reader, writer, pid)


def _join(choice: EngineChoice, command: Sequence[str]) -> tuple[socket.socket, int]:
    path = socket_path(runtime_folder(), (*engine_options(choice), *command[:2]))
    for _ in range(ATTEMPTS):
        connection = connect(path) if is_safe(path) else None
        if connection is None:
            connection = _start(path, command, choice.key_variable)
        if (pid := greet(connection)) is not None:
            return connection, pid
    raise EngineError("The infill engine keeps exiting during startup. Its log shows why.")


def connect(path: Path) -> socket.socket | None:
    """Return a connection to a socket; None if nothing listens there. Raises PermissionError for another user's."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(WELCOME_SECONDS)
        _connect(connection, path)
        peer_pid(connection)
    except PermissionError:
        connection.close()
        raise
    except OSError:
        connection.close()
        return None
    return connection


def _connect(connection: socket.socket, path: Path) -> None:
    """Connect, waiting while others are let in first: Linux refuses at once as soon as the backlog is full."""
    until = time.monotonic() + WELCOME_SECONDS
    while True:
        try:
            connection.connect(str(path))
            return
        except BlockingIOError:
            if time.monotonic() > until:
                raise
            time.sleep(RETRY_SECONDS)


def greet(connection: socket.socket, *, ends_hung: bool = True) -> int | None:
    """Return the process id of an engine that lets this client in, or None. With `ends_hung`, end one that hangs."""
    pid = peer_pid(connection)
    try:
        connection.sendall(encode(Hello(PROTOCOL, package_version())))
        # Not buffered: what follows the welcome is left for the caller.
        welcome = decode(read_payload(connection))
        if isinstance(welcome, Welcome):
            connection.settimeout(None)
            return pid or welcome.pid
    except TimeoutError:
        if ends_hung and pid is not None:
            log.warning("the shared engine does not greet and is ended")
            kill(pid)
    except OSError:
        pass
    connection.close()
    return None


def read_payload(connection: socket.socket) -> bytes:
    """Return the next frame's payload, nothing of what follows it; b"" at the end. Raises OSError."""
    length = int.from_bytes(_read(connection, 4), "big")
    return _read(connection, length) if length <= MAX_FRAME_BYTES else b""


def _read(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size and (more := connection.recv(size - len(found))):
        found += more
    return found


def _start(path: Path, command: Sequence[str], key_variable: str) -> socket.socket:
    """Start an engine, unless another client has just done so, and connect to it."""
    with locked(path, LOCK_SECONDS):
        if is_safe(path) and (connection := connect(path)) is not None:
            return connection
        if path.is_dir() and not path.is_symlink():
            raise EngineError(f"{path} is a folder. Remove it.")
        path.unlink(missing_ok=True)  # left by an engine that was killed, or put there by somebody else
        process = _launch([*command, "--socket", str(path), *_idle(), *_log()], key_variable)
        give_up = time.monotonic() + START_SECONDS
        while time.monotonic() < give_up and process.poll() is None:
            if is_safe(path) and (connection := connect(path)) is not None:
                threading.Thread(target=process.wait, daemon=True).start()  # leaves no zombie
                return connection
            time.sleep(RETRY_SECONDS)
        process.kill()
        process.wait()
    raise EngineError(f"The infill engine could not be started. See {log_path()}.")


def _launch(command: Sequence[str], key_variable: str) -> "subprocess.Popen[bytes]":
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in PASSED_ON or name == key_variable or name.startswith(PASSED_PREFIXES)
    }
    with _open_log() as errors:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
            cwd=WORKING_FOLDER,
            env={"MALLOC_ARENA_MAX": "2", **kept},
            start_new_session=True,  # it outlives the client that starts it
        )


def _idle() -> tuple[str, ...]:
    seconds = os.environ.get(IDLE_SECONDS, "")
    return ("--idle-seconds", seconds) if seconds.replace(".", "", 1).isdecimal() else ()


def _log() -> tuple[str, ...]:
    folder = os.environ.get(LOG_FOLDER, "")
    return ("--log", str(Path(folder).absolute())) if folder else ()


def log_path() -> Path:
    """Return the file that engines log to. It holds no document text."""
    return state_folder() / "engine.log"


@contextlib.contextmanager
def _open_log() -> Iterator[int]:
    path = log_path()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > LARGEST_LOG_BYTES:
            path.replace(path.with_suffix(".log.1"))
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError:  # the disk is full, for example
        yield subprocess.DEVNULL
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)
