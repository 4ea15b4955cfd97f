"""How long the machine keeps a process waiting: a process for each core that sleeps shortly and looks at the clock.

A delay is the time from the moment at which the sleep should have ended to that at which it did.
"""

import gc
import os
import subprocess
import sys
import threading
import time
from bisect import bisect_left
from pathlib import Path

SLEEP_SECONDS = 0.005
NOTED_SECONDS = 0.002  # smaller delays are those of the clock
SWITCH_SECONDS = 0.0005  # after which a thread lets another one run; usually 0.005
REPOSITORY = Path(__file__).parents[2]


def keep_own_delays_short() -> None:
    """Keep the process that times the answers from delaying them: by full collections, and by its other threads."""
    gc.disable()
    sys.setswitchinterval(SWITCH_SECONDS)


class Ticker:
    """Measures until closed. Times are in seconds of `perf_counter`, which all processes of a Linux system share."""

    def __init__(self) -> None:
        self._seen: dict[int, list[tuple[float, float]]] = {}  # by core: when a delay ended, and its seconds
        self._processes: list[subprocess.Popen[str]] = []
        self._threads: list[threading.Thread] = []
        for core in sorted(os.sched_getaffinity(0)):
            command = [sys.executable, "-m", "bench.soak.ticker", str(core)]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY)
            self._seen[core] = []
            self._processes.append(process)
            thread = threading.Thread(target=self._read, args=(process, self._seen[core]), daemon=True)
            thread.start()
            self._threads.append(thread)

    def delay_ms(self, since: float, until: float) -> float:
        """Return for how long the slower core kept its process waiting in this time."""
        return max(_overlap_ms(delays, since, until) for delays in self._seen.values())

    def longest_ms(self) -> float:
        """Return the longest delay."""
        return max((1000 * delay for delays in self._seen.values() for _, delay in delays), default=0.0)

    def share(self, seconds: float) -> float:
        """Return the share of the time that the slower core was not to be had."""
        return max(sum(delay for _, delay in delays) for delays in self._seen.values()) / seconds

    def close(self) -> None:
        """End the processes."""
        for process in self._processes:
            process.kill()
            process.wait()
        for thread in self._threads:
            thread.join(5)

    @staticmethod
    def _read(process: "subprocess.Popen[str]", delays: list[tuple[float, float]]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            ended, delay = line.split()
            delays.append((float(ended), float(delay)))


def _overlap_ms(delays: list[tuple[float, float]], since: float, until: float) -> float:
    total = 0.0
    for ended, delay in delays[bisect_left(delays, (since, 0.0)) :]:
        if ended - delay >= until:
            break
        total += min(ended, until) - max(ended - delay, since)
    return 1000 * total


def main() -> None:
    """Print each delay until killed, or until nobody reads."""
    os.sched_setaffinity(0, {int(sys.argv[1])})
    parent = os.getppid()
    while os.getppid() == parent:
        due = time.perf_counter() + SLEEP_SECONDS
        time.sleep(SLEEP_SECONDS)
        woken = time.perf_counter()
        if woken - due > NOTED_SECONDS:
            print(f"{woken:.6f} {woken - due:.6f}", flush=True)


if __name__ == "__main__":
    main()
