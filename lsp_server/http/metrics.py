"""Counts of requests and answers for Prometheus. They hold no text and no names."""

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.5)  # seconds


class Metrics:
    """The counts since the server started."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.responses = Counter("infill_http_responses", "Responses.", ("path", "status"), registry=self._registry)
        self.answers = Counter(
            "infill_http_answers", "Answers; reason is empty with candidates.", ("reason",), registry=self._registry
        )
        self.events = Counter("infill_http_events", "What users did.", ("type",), registry=self._registry)
        self.seconds = Histogram(
            "infill_http_answer_seconds", "Time to answer.", buckets=BOUNDS, registry=self._registry
        )

    def text(self) -> bytes:
        """Return the exposition format."""
        return generate_latest(self._registry)
