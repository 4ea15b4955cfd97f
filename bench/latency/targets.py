"""The product's targets for time and memory with the default model, and whether a run met them."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """An upper bound, `most`, for a measured number."""

    name: str
    most: float
    unit: str


TARGETS = (
    Target("p50", 120, "ms"),
    Target("p99", 150, "ms"),
    Target("max", 170, "ms"),
    Target("lines_ratio", 1.3, "times"),  # model answers in the largest document versus the smallest
    Target("lines_ratio_all", 1.3, "times"),  # all answers; cached ones take two or three ms
    Target("encode_ratio", 0.2, "times"),
    Target("server_mb", 90, "MB"),
    Target("worker_mb", 1100, "MB"),
)


def judge(measured: Mapping[str, float]) -> dict[str, dict[str, float | bool]]:
    """Return, per measured target, the value, the bound, and whether it was met."""
    return {
        target.name: {
            "value": measured[target.name],
            "most": target.most,
            "met": measured[target.name] <= target.most,
        }
        for target in TARGETS
        if target.name in measured
    }
