"""What a run was measured on, and what makes its times doubtful: battery, throttling, other programs."""

import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from infill_engine.models.runtime.devices import physical_cores

BUSY = 0.15  # share of the processor that other programs may use
LOOK_SECONDS = 1.0
_POWERCAP = Path("/sys/class/powercap")
_CPU = Path("/sys/devices/system/cpu")
_PACKAGES = ("numpy", "torch", "tree-sitter", "transformers")


def describe_machine() -> dict[str, Any]:
    """Processor, cores, memory, system and accelerator."""
    return {
        "processor": _processor(),
        "cores": physical_cores(),
        "logical": psutil.cpu_count() or 0,
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "kernel": platform.release(),
        "accelerator": _accelerator(),
        "energy": "RAPL" if read_energy_joules() is not None else "",
    }


def describe_software() -> dict[str, Any]:
    """Return the version of infill-ls, its commit if this is a checkout, and the versions of what it computes with."""
    return {
        "version": _version("infill-ls"),
        "commit": _commit(),
        "python": platform.python_version(),
        "packages": {name: version for name in _PACKAGES if (version := _version(name))},
    }


def doubts() -> list[str]:
    """Return sentences about the present state of this machine that make its times doubtful; takes a second."""
    return list(_doubts())


def throttled() -> int:
    """Return how often the processor has been slowed down because of its temperature; 0 if the system does not say."""
    counts = (_number(path) for path in _CPU.glob("cpu[0-9]*/thermal_throttle/core_throttle_count"))
    return sum(count for count in counts if count is not None)


def read_energy_joules() -> float | None:
    """Return the energy that the processors have used since some moment, by RAPL; None if it cannot be read.

    The counters start again from 0 every few hours under load.
    """
    zones = [path for path in _POWERCAP.glob("*/energy_uj") if path.parent.name.count(":") == 1]
    values = [value for path in zones if (value := _number(path)) is not None]
    return sum(values) / 1e6 if values and len(values) == len(zones) else None


def _doubts() -> Iterator[str]:
    battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
    if battery is not None and not battery.power_plugged:
        yield f"This machine runs on battery ({battery.percent:.0f} %)."
    before = psutil.cpu_times()
    psutil.cpu_percent()
    busy = psutil.cpu_percent(LOOK_SECONDS) / 100
    if busy > BUSY:
        yield f"Other programs use {busy:.0%} of the processor."
    after = psutil.cpu_times()
    stolen = getattr(after, "steal", 0.0) - getattr(before, "steal", 0.0)
    if stolen > BUSY * LOOK_SECONDS:
        yield "Other virtual machines use this processor."
    memory = psutil.virtual_memory()
    if memory.available < 1.5e9:
        yield f"Only {memory.available / 1e9:.1f} GB of memory are free."


def _processor() -> str:
    if sys.platform == "linux":
        try:
            lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError:
            lines = []
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        if names:
            return f"{names[0]}{_instructions(lines)}"
    return platform.processor() or platform.machine()


def _instructions(lines: list[str]) -> str:
    """Return which of the instructions that matter for int8 and bf16 a Linux processor has."""
    flags = next((line.split() for line in lines if line.startswith("flags")), [])
    names = {"amx_int8": "AMX", "avx512_vnni": "AVX-512 VNNI", "avx_vnni": "AVX VNNI", "avx2": "AVX2"}
    return next((f", {name}" for flag, name in names.items() if flag in flags), "")


def _accelerator() -> str:
    import torch

    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return "Apple Metal" if torch.backends.mps.is_available() else ""


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _commit() -> str:
    """Return the commit of the checkout that runs; "" if infill-ls was installed from a wheel."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return ""
    try:
        ran = subprocess.run(
            ["git", "-C", str(root), "rev-parse", "--short=12", "HEAD"],
            capture_output=True,
            text=True,
            check=False,
            timeout=10,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ran.stdout.strip() if ran.returncode == 0 else ""


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
