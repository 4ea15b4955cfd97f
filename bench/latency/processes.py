"""What the server's processes hold: their memory, and whether torch is in the wrong one."""

from pathlib import Path

import psutil


def memory_mb(server: int) -> dict[str, float]:
    """Resident megabytes of the server and of its worker (0 without one)."""
    process = psutil.Process(server)
    workers = process.children(recursive=True)
    return {
        "server_mb": _resident(process),
        "worker_mb": round(sum(_resident(worker) for worker in workers), 1),
    }


def has_torch(pid: int) -> bool | None:
    """Whether a library of torch's is mapped into the process; None where the system does not tell."""
    try:
        return "libtorch" in Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return None


def _resident(process: psutil.Process) -> float:
    try:
        return round(process.memory_info().rss / 1e6, 1)
    except psutil.Error:
        return 0.0
