"""Serves an engine on a Unix socket until it is told to stop or nobody has used it for a while.

Each client has a thread that reads its frames and one that writes to it. A client that stops reading is disconnected
once `MOST_QUEUED_BYTES` wait for it, so no thread of the engine ever waits for a client.
"""

import contextlib
import os
import queue
import socket
import threading
from pathlib import Path
from typing import NoReturn

from infill_engine.models.runtime.allocator import release_freed
from infill_engine.process import exit_now, say, write_no_core_files
from infill_engine.serving.event_log import EventLog, Log, silent
from infill_engine.serving.frames import decode, encode, read_frame
from infill_engine.serving.protocol import PROTOCOL, Hello, Message, Shutdown, State, Welcome
from infill_engine.serving.runtime_files import package_version, peer_pid
from infill_engine.serving.shared_engine import SharedEngine
from infill_engine.serving.starting import Load

MOST_CLIENTS = 64
HELLO_SECONDS = 5.0  # for the first message of a client
LOOK_SECONDS = 0.5  # between two looks at whether the engine is still needed
SENDING_SECONDS = 0.5  # for answers and goodbyes that are being sent
MOST_QUEUED_BYTES = 16 * 1024 * 1024
FIRST_SECONDS = 10.0  # for the client that started the engine to join


def serve_socket(load: Load, path: Path, idle_seconds: float, *, log_folder: Path | None = None) -> NoReturn:
    """Serve the engine that `load` returns, then exit the process.

    The caller has made sure that nothing else listens at `path`. Clients that are informed of the exit start another
    engine. Exits with `exit_now`, for the reasons that `__main__.serve` gives.
    """
    write_no_core_files()
    log = _open_log(log_folder, path)
    log("started", version=package_version())
    os.umask(0o177)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen(MOST_CLIENTS)
    engine = SharedEngine(load, log=log)
    threading.Thread(target=engine.dispatch.run, name="compute", daemon=True).start()
    made = _socket_id(path)
    threading.Thread(target=_accept, args=(listener, engine), name="accept", daemon=True).start()
    while not engine.stopping.wait(LOOK_SECONDS):
        if not engine.clients and engine.clock() - engine.left_at >= _patience(engine, path, made, idle_seconds):
            break
    if _socket_id(path) == made:
        path.unlink(missing_ok=True)
    engine.dispatch.close()
    engine.broadcast(Shutdown())
    threading.Event().wait(SENDING_SECONDS if engine.clients else 0.0)
    log("exit")
    if isinstance(log, EventLog):
        log.close()
    exit_now(0)


def _open_log(folder: Path | None, path: Path) -> Log:
    """Return the log of the engine with this socket. One that cannot be written keeps no engine from serving."""
    if folder is None:
        return silent
    try:
        return EventLog(folder / f"engine-{path.stem}.jsonl")
    except OSError as fault:
        say(f"infill engine: the log in {folder} cannot be written: {fault.strerror}")
        return silent


def _socket_id(path: Path) -> str:
    """Return what identifies the socket at a path, which is not its name; "" if there is none."""
    try:
        found = path.lstat()
    except OSError:
        return ""
    return f"{found.st_dev}.{found.st_ino}.{found.st_mtime_ns}"


def _patience(engine: SharedEngine, path: Path, made: str, idle_seconds: float) -> float:
    """Return how many seconds an engine without clients keeps running: none if it failed or its socket is gone."""
    if engine.dispatch.status.state is State.FAILED or _socket_id(path) != made:
        return 0.0
    return idle_seconds if engine.was_joined else max(idle_seconds, FIRST_SECONDS)


def _accept(listener: socket.socket, engine: SharedEngine) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:  # for example, too many open files
            threading.Event().wait(LOOK_SECONDS)
            continue
        threading.Thread(target=_serve_client, args=(connection, engine), name="client", daemon=True).start()


def _serve_client(connection: socket.socket, engine: SharedEngine) -> None:
    """Read a client's frames until it leaves."""
    with contextlib.suppress(OSError, ValueError), connection, connection.makefile("rb") as frames:
        peer_pid(connection)  # raises for another user's process
        connection.settimeout(HELLO_SECONDS)
        if engine.clients >= MOST_CLIENTS or decode(read_frame(frames)) != Hello(PROTOCOL, package_version()):
            return
        connection.settimeout(None)
        writer = _Writer(connection)
        writer.send(Welcome(os.getpid()))
        client = engine.join(writer.send)
        try:
            while (payload := read_frame(frames)) is not None:
                if (message := decode(payload)) is not None:
                    engine.receive(client, message)
        finally:
            engine.leave(client)
            writer.end()
            if not engine.clients:
                release_freed()


class _Writer:
    """Sends messages to one client from a thread of its own."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._frames: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._queued_bytes = 0
        self._lock = threading.Lock()
        threading.Thread(target=self._run, name="writer", daemon=True).start()

    def send(self, message: Message) -> None:
        """Queue a message. Disconnect a client that does not read."""
        frame = encode(message)
        with self._lock:
            self._queued_bytes += len(frame)
            too_much = self._queued_bytes > MOST_QUEUED_BYTES
        if too_much:
            with contextlib.suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)
        else:
            self._frames.put(frame)

    def end(self) -> None:
        """Let the thread return."""
        self._frames.put(None)

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            while (frame := self._frames.get()) is not None:
                self._connection.sendall(frame)
                with self._lock:
                    self._queued_bytes -= len(frame)
