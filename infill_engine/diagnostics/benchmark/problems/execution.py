"""Runs a completed program with its tests in a separate, resource-limited process that is killed with all its children.

On every POSIX system: limits on processor time, memory, file size and open files, a wall-clock timeout, a temporary
folder, an empty environment, and a kill of the whole process group. On Linux the process also gets a network namespace
of its own, without any connection, where the system allows that (`has_no_network`). This stops accidents, not attacks:
run unknown code in a container.
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

WALL_SECONDS = 10.0
CPU_SECONDS = 8
MEMORY_BYTES = 1 << 30
FILE_BYTES = 1 << 20

# The child sets the limits itself before it runs the program. Code between fork and exec is not safe in a process with
# threads. Hard limits cannot be raised again.
_LAUNCHER = """
import ctypes, resource, sys
if sys.platform == "linux":
    ctypes.CDLL(None).unshare(0x10000000 | 0x40000000)  # CLONE_NEWUSER | CLONE_NEWNET
def limit(name, value):
    hard = resource.getrlimit(name)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(name, (value, value))
limit(resource.RLIMIT_CPU, int(sys.argv[2]))
limit(resource.RLIMIT_AS, int(sys.argv[3]))
limit(resource.RLIMIT_FSIZE, int(sys.argv[4]))
limit(resource.RLIMIT_CORE, 0)
limit(resource.RLIMIT_NOFILE, 64)
with open(sys.argv[1], encoding="utf-8") as file:
    program = compile(file.read(), "program.py", "exec")
sys.argv = ["program.py"]
exec(program, {"__name__": "__main__"})
"""


_INTERFACES = """
import socket
assert all(name == "lo" for _, name in socket.if_nameindex())
"""


@cache
def has_no_network() -> bool:
    """Return whether programs run without a network on this system."""
    return sys.platform == "linux" and passes(_INTERFACES)


def passes(program: str, *, status: int = 0, wall_seconds: float = WALL_SECONDS) -> bool:
    """Return whether the program exits by itself, in time, with `status`."""
    with tempfile.TemporaryDirectory(prefix="infill-bench-", ignore_cleanup_errors=True) as folder:
        path = Path(folder, "program.py")
        path.write_text(program, encoding="utf-8", errors="replace")
        limits = (str(CPU_SECONDS), str(MEMORY_BYTES), str(FILE_BYTES))
        process = subprocess.Popen(
            [sys.executable, "-I", "-B", "-c", _LAUNCHER, str(path), *limits],
            cwd=folder,
            env={"HOME": folder, "TMPDIR": folder, "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return process.wait(wall_seconds) == status
        except subprocess.TimeoutExpired:
            return False
        finally:
            _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Kill the rest of the process group, including children of a finished program."""
    # The group may be empty or (on macOS) hold only a zombie.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
