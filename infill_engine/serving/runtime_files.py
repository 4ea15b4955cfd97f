"""Where a shared engine is found: one Unix socket for each engine, in a folder that only its user can enter.

    NAME.sock   the engine listens here
    NAME.lock   held by a client that looks for the engine or starts it

`NAME` is a hash of the versions and of the engine's settings, so engines that differ in either do not meet.
"""

import contextlib
import os
import socket
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from importlib import metadata
from pathlib import Path

from filelock import FileLock

from infill_engine.errors import InfillError
from infill_engine.serving.protocol import PROTOCOL

RUNTIME_DIR = "INFILL_RUNTIME_DIR"
LOCK_SECONDS = 30.0  # for the lock of a socket
LONGEST_PATH = 100  # bytes; systems allow 104 to 108
supported = hasattr(socket, "AF_UNIX") and sys.platform != "win32"


class RuntimeFolderError(InfillError):
    """The folder for sockets is not safe to use. The message says what to do."""


def package_version() -> str:
    """Return the installed package's version, "0" if it is not installed."""
    try:
        return metadata.version("infill-ls")
    except metadata.PackageNotFoundError:
        return "0"


def runtime_folder() -> Path:
    """Return the folder for sockets, made if it is missing. Raises RuntimeFolderError for one that others can enter."""
    set_by_user, of_session = os.environ.get(RUNTIME_DIR), os.environ.get("XDG_RUNTIME_DIR")
    if set_by_user:
        folder = Path(set_by_user).absolute()
    elif of_session and os.path.isdir(of_session):
        folder = Path(of_session, "infill-ls")
    else:
        folder = Path(tempfile.gettempdir(), f"infill-ls-{os.getuid()}")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as fault:
        raise RuntimeFolderError(f"The folder {folder} cannot be used: {fault.strerror}. Set {RUNTIME_DIR}.") from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise RuntimeFolderError(f"{folder} is not a folder that you own. Remove it, or set {RUNTIME_DIR}.")
    if found.st_mode & 0o077:
        raise RuntimeFolderError(f"Other users can enter {folder}. Run `chmod 700 {folder}`, or set {RUNTIME_DIR}.")
    return folder


def socket_path(folder: Path, engine: Sequence[str]) -> Path:
    """Return the path of the socket of the engine with these settings. Raises RuntimeFolderError if it is too long."""
    named = "\0".join([str(PROTOCOL), package_version(), str(Path(__file__)), *engine])
    path = folder / f"{blake2b(named.encode(errors='replace'), digest_size=6).hexdigest()}.sock"
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise RuntimeFolderError(f"The path of {folder} is too long for a socket. Set {RUNTIME_DIR} to a shorter one.")
    return path


def is_safe(path: Path) -> bool:
    """Return whether a path is a socket of this user that no other user can open."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISSOCK(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def peer_pid(connection: socket.socket) -> int | None:
    """Return the process at the other end; None if the system does not tell.

    Raises PermissionError if it is another user's.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    pid, user = (int.from_bytes(credentials[start : start + 4], sys.byteorder) for start in (0, 4))
    if user != os.getuid():
        raise PermissionError("the socket belongs to a process of another user")
    return pid


@contextlib.contextmanager
def locked(file: Path, seconds: float) -> Iterator[Path]:
    """Hold the lock next to `file`. Raises TimeoutError, an OSError, if another process holds it for `seconds`."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with FileLock(file.with_suffix(".lock"), seconds, mode=0o600, poll_interval=0.02):
        yield file
