"""The state of the shared engines in Prometheus's text format, for example for the node exporter's textfile collector.

Format: https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from infill_engine.errors import InputError
from infill_engine.serving.protocol import LATENCY_BOUNDS_MS, Measured

if TYPE_CHECKING:
    from prometheus_client import Metric

LABELS = ("pid", "model", "device")


def prometheus_text(engines: Sequence[Measured]) -> str:
    """Return the metrics of all engines. Raises InputError if the library is not installed."""
    try:
        from prometheus_client import CollectorRegistry, generate_latest
    except ImportError:
        raise InputError("metrics need prometheus-client; install infill-ls[metrics]") from None
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Engines(engines))
    return generate_latest(registry).decode()


class _Engines:
    """What the library's registry collects."""

    def __init__(self, engines: Sequence[Measured]) -> None:
        self._engines = engines

    def collect(self) -> "Iterator[Metric]":
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        gauge, counter = GaugeMetricFamily, CounterMetricFamily
        described: dict[str, tuple[type[GaugeMetricFamily | CounterMetricFamily], str, Callable[[Measured], float]]] = {
            "clients": (gauge, "Clients that use the engine.", lambda each: each.clients),
            "memory_bytes": (gauge, "Resident memory.", lambda each: each.memory_bytes),
            "waiting": (gauge, "Requests without an answer.", lambda each: each.waiting),
            "uptime_seconds": (gauge, "Time since the engine started.", lambda each: each.seconds),
            "answers": (counter, "Answered requests.", lambda each: each.answers),
            "requests": (counter, "Requests that somebody waited for.", lambda each: each.asked),
            "requests_ahead": (counter, "Of these, computed before they were asked.", lambda each: each.speculative),
            "cached_answers": (counter, "Requests answered from the cache.", lambda each: each.from_cache),
        }
        for name, (family, documentation, value) in described.items():
            metric = family(f"infill_engine_{name}", documentation, labels=LABELS)
            for engine in self._engines:
                metric.add_metric(_labels(engine), value(engine))
            yield metric
        latency = HistogramMetricFamily(
            "infill_engine_latency_seconds", "Time from a request to its answer.", labels=LABELS
        )
        for engine in self._engines:
            latency.add_metric(_labels(engine), list(_buckets(engine.latency_counts)), engine.latency_sum_ms / 1000)
        yield latency


def _labels(engine: Measured) -> list[str]:
    return [str(engine.pid), engine.model, engine.device]


def _buckets(counts: Iterable[int]) -> Iterator[tuple[str, float]]:
    bounds = [str(bound / 1000) for bound in LATENCY_BOUNDS_MS]
    yield from zip([*bounds, "+Inf"], map(float, accumulate(counts)), strict=True)
