"""What a run was measured on, and what makes its times doubtful: a battery, or other programs."""

import platform
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from infill_engine.models.runtime.devices import physical_cores

BUSY = 0.15  # share of the processor that other programs may use
LOOK_SECONDS = 1.0
_PACKAGES = ("numpy", "openvino", "torch", "transformers")


def describe_machine() -> dict[str, Any]:
    """Return processor, cores, gigabytes of memory and system."""
    return {
        "processor": _processor(),
        "cores": physical_cores(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9),
        "system": f"{platform.system()} {platform.machine()}",
    }


def describe_software() -> dict[str, Any]:
    """Return the versions of infill-ls and of what it computes with."""
    return {
        "version": _version("infill-ls"),
        "python": platform.python_version(),
        "packages": {name: version for name in _PACKAGES if (version := _version(name))},
    }


def doubts() -> Iterator[str]:
    """Yield sentences about the present state of this machine that make its times doubtful. Takes a second."""
    battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
    if battery is not None and not battery.power_plugged:
        yield f"This machine runs on battery ({battery.percent:.0f} %)."
    psutil.cpu_percent()
    busy = psutil.cpu_percent(LOOK_SECONDS) / 100
    if busy > BUSY:
        yield f"Other programs use {busy:.0%} of the processor."
    available = psutil.virtual_memory().available
    if available < 1.5e9:
        yield f"Only {available / 1e9:.1f} GB of memory are free."


def _processor() -> str:
    if sys.platform == "linux":
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n")
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        if names:
            return names[0]
    return platform.processor() or platform.machine()


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
