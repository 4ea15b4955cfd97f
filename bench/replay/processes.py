"""Inspects the server's processes: memory, and whether the server has loaded torch."""

from pathlib import Path

import psutil


def memory_mb(server: int) -> dict[str, float]:
    """Return the resident memory of the server and of its worker, in MB (0 without a worker)."""
    process = psutil.Process(server)
    workers = process.children(recursive=True)
    return {
        "server_mb": _resident(process),
        "worker_mb": round(sum(_resident(worker) for worker in workers), 1),
    }


def has_torch(pid: int) -> bool | None:
    """Return whether the process has a torch library mapped; None if the system does not report it."""
    try:
        return "libtorch" in Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return None


def _resident(process: psutil.Process) -> float:
    try:
        return round(process.memory_info().rss / 1e6, 1)
    except psutil.Error:
        return 0.0
