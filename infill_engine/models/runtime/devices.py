"""Device names as users write them: torch's `cpu`, `cuda` and `mps`, and `mlx`, which is Apple's library.

Also how many CPU cores to use.
"""

import os
import platform
import sys
from pathlib import Path

MLX = "mlx"


def torch_device(device: str) -> str:
    """Return the torch device for tensors of a family on this device."""
    return "cpu" if device == MLX else device


def finish(device: str) -> None:
    """Wait until a device has done its work; a CPU, and MLX as used here, are always done."""
    if device in ("cpu", MLX):
        return
    import torch  # callers that only need a device's name run without it

    if device.startswith("cuda"):
        torch.cuda.synchronize(device)
    elif device == "mps":
        torch.mps.synchronize()


def on_apple_silicon() -> bool:
    return sys.platform == "darwin" and platform.machine() == "arm64"


def wanted_threads() -> int | None:
    """Return the number of threads in the environment variable INFILL_THREADS, or None if it is not set."""
    wanted = os.environ.get("INFILL_THREADS", "")
    return int(wanted) if wanted.isdecimal() and int(wanted) > 0 else None


def physical_cores() -> int:
    """Physical cores among the CPUs this process may use, as far as the system reports them; at least 1."""
    if not hasattr(os, "sched_getaffinity"):
        return max(1, os.cpu_count() or 1)
    cores: set[str] = set()
    for cpu in os.sched_getaffinity(0):
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        try:
            cores.add(siblings.read_text(encoding="ascii"))
        except OSError:
            cores.add(str(cpu))
    return max(1, len(cores))
