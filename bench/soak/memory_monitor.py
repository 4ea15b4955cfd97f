"""Memory of the servers and of their engine over time."""

import threading
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import psutil

EVERY_SECONDS = 2.0


@dataclass
class MemoryMonitor:
    """Notes the memory of processes from `start` until `close`. Megabytes are proportional (PSS), else resident."""

    servers: dict[str, int]  # process ids by name
    runtime: Path
    rows: list[dict[str, Any]] = field(default_factory=list)
    every: float = EVERY_SECONDS
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Note once more, and end."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self.look()

    def look(self) -> None:
        """Note the memory of now."""
        row: dict[str, Any] = {"kind": "memory", "at": perf_counter()}
        for name, pid in self.servers.items():
            row[name] = megabytes(pid)
        engines = engines_in(self.runtime)
        row["engine"] = round(sum(megabytes(pid) for pid in engines), 1)
        row["engines"] = engines
        self.rows.append(row)

    def _run(self) -> None:
        while not self._stop.wait(self.every):
            self.look()


def engines_in(runtime: Path) -> list[int]:
    """Return the processes whose sockets lie in a folder."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        line = process.info["cmdline"] or ()
        if any(part.startswith(f"{runtime}/") and part.endswith(".sock") for part in line):
            found.append(process.pid)
    return sorted(found)


def megabytes(pid: int) -> float:
    """Return the memory of a process, 0 if there is none."""
    try:
        found = psutil.Process(pid).memory_full_info()
    except psutil.Error:
        return 0.0
    return round(float(getattr(found, "pss", found.rss)) / 1e6, 1)
