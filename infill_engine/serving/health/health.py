"""Whether the engine's process should be replaced: its passes have become slower, or its memory has grown.

The first probe after loading is what later ones are compared with. One slow probe means nothing: the caches were cold,
or the processor ran at a lower clock. A process whose model is replaced while it runs starts over.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from infill_engine.budget.deadline import Clock, now
from infill_engine.serving.health.event_log import Log, silent
from infill_engine.serving.health.probe import Probe, measure

if TYPE_CHECKING:
    from infill_engine.engine.engine import Engine


@dataclass(frozen=True, slots=True)
class HealthSettings:
    """When to probe, and what is too much.

    A probe needs a moment in which nothing was computed for `quiet_seconds`. The process is due for replacement when
    `in_a_row` probes each cost more than `slower` times the first, or each found more than `larger` times its memory
    and at least `least_growth_bytes` more. It is replaced once nothing was computed for `rest_seconds`, because the
    next process has to load the model.
    """

    every_seconds: float = 60.0
    quiet_seconds: float = 3.0
    slower: float = 2.0
    larger: float = 2.0
    least_growth_bytes: int = 512 * 1024 * 1024
    in_a_row: int = 5
    rest_seconds: float = 60.0


@dataclass
class Health:
    """The probes of one process. Methods may be called from any thread."""

    settings: HealthSettings = field(default_factory=HealthSettings)
    clock: Clock = now
    log: Log = silent
    first: Probe | None = None
    last: Probe | None = None
    off: bool = False  # the model has no passes to measure, or they fail
    _slow: int = 0  # probes in a row
    _large: int = 0
    _probed_at: float = 0.0
    _worked_at: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def drift(self) -> float:
        """How many times as long as the first the last probe took; 0 if it is not known."""
        first, last = self.first, self.last
        return last.cpu_ms / first.cpu_ms if first is not None and last is not None and first.cpu_ms > 0 else 0.0

    def worked(self) -> None:
        """Note that other work has begun."""
        self._worked_at = self.clock()

    def seconds_to_probe(self) -> float | None:
        """Return how long to wait for the next probe; 0 or less if it is due, None if there are none."""
        if self.off:
            return None
        probe_at = self._probed_at + self.settings.every_seconds if self.first is not None else 0.0
        return max(probe_at, self._worked_at + self.settings.quiet_seconds) - self.clock()

    def observe(self, probe: Probe | None) -> None:
        """Record a probe. One that was stopped is repeated after the next quiet moment."""
        if probe is None:
            self.worked()
            return
        with self._lock:
            self._probed_at, self.last = self.clock(), probe
            if self.first is None:
                self.first = probe
            first, settings = self.first, self.settings
            most = max(settings.larger * first.memory_bytes, first.memory_bytes + settings.least_growth_bytes)
            self._slow = self._slow + 1 if probe.cpu_ms > settings.slower * first.cpu_ms else 0
            self._large = self._large + 1 if probe.memory_bytes > most else 0
        times = {"cpu_ms": round(probe.cpu_ms, 2), "wall_ms": round(probe.wall_ms, 2), "drift": round(self.drift, 2)}
        self.log("probe", **times, memory_bytes=probe.memory_bytes)

    def start_over(self) -> None:
        """Forget the probes: another model serves now."""
        with self._lock:
            self.off = False
            self.first = self.last = None
            self._slow = self._large = 0
            self._worked_at = self.clock()  # the first request may follow at once

    def reason(self) -> str:
        """Return why the process should be replaced now; "" if it should not."""
        if self.clock() < self._worked_at + self.settings.rest_seconds:
            return ""
        with self._lock:
            if self._slow >= self.settings.in_a_row:
                return "passes have become slower"
            return "memory has grown" if self._large >= self.settings.in_a_row else ""


def probe(engine: "Engine", health: Health | None, stopped: Callable[[], bool]) -> None:
    """Measure a small pass, unless a request comes in between. A model whose passes fail is not probed again."""
    if health is None:
        return
    health.off = True
    one_pass = engine.probe()
    if one_pass is not None:
        found = measure(one_pass, stopped)
        health.off = False
        health.observe(found)
