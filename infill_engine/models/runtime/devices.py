"""Device names as users write them: torch's `cpu`, `cuda` and `mps`, and `mlx`, which is Apple's library.

Also how many CPU cores to use, and how much memory. Imports torch only for a device that it computes on.
"""

import os
import platform
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import psutil

from infill_engine.errors import InputError
from infill_engine.models.runtime.extras import TORCH, has_torch, installing
from infill_engine.settings import AUTO

MLX = "mlx"
MLX_TYPE = "trunk"  # the only model with an MLX implementation
TORCH_ONLY = ("cuda", "mps")
NVIDIA_FILE = "/dev/nvidiactl"  # on Linux, of the driver
GPU_FILES = (NVIDIA_FILE, "/dev/kfd", "/dev/dxg")  # on Linux, one exists if there is a driver that torch can use


def device_for(model_type: str, wanted: str) -> str:
    """The device that a model of this type runs on: that of `choose_device`, but on Apple Silicon the default uses MLX
    if it is installed. Raises InputError.
    """
    if model_type == MLX_TYPE:
        return MLX if wanted == AUTO and on_apple_silicon() and find_spec("mlx") else choose_device(wanted)
    if wanted == MLX:
        raise InputError(f"device `{MLX}` runs only the default model; use `auto`")
    return choose_device(wanted)


def choose_device(wanted: str) -> str:
    """`auto` takes CUDA, then Apple's Metal, then the CPU. Raises InputError for a device that is not available."""
    available = _available()
    if wanted == AUTO:
        return next(device for device in ("cuda", "mps", "cpu") if available[device])
    kind, _, number = wanted.partition(":")
    if kind in TORCH_ONLY and not has_torch():
        raise InputError(f"device `{kind}` needs torch: run {installing(TORCH)}, or use the device `{AUTO}`")
    devices = _cuda_devices() if kind == "cuda" else 1
    is_one = not number or (number.isdecimal() and int(number) < devices)
    if not (is_one and available.get(kind, False)):
        there = ", ".join(device for device, is_there in available.items() if is_there)
        raise InputError(f"device `{wanted}` is not available here; use `auto` or one of: {there}")
    return wanted if kind == "cuda" else kind


def _available() -> dict[str, bool]:
    """Return which kinds of devices can be used. Imports torch only if there may be a GPU."""
    available = {"cpu": True, "cuda": False, "mps": False, MLX: find_spec("mlx") is not None}
    if has_torch() and may_have_gpu():
        import torch

        available |= {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    return available


def may_have_gpu() -> bool:
    """Return whether it is worth importing torch to look for a GPU: on Linux, a driver leaves a device file."""
    return not sys.platform.startswith("linux") or any(map(os.path.exists, GPU_FILES))


def has_nvidia_card() -> bool:
    """Return whether the driver of an NVIDIA card is installed."""
    return os.path.exists(NVIDIA_FILE) or shutil.which("nvidia-smi") is not None


def _cuda_devices() -> int:
    if not may_have_gpu():
        return 0
    import torch

    return torch.cuda.device_count()


def finish(device: str) -> None:
    """Wait until a device has done its work; a CPU, and MLX as used here, are always done."""
    if device in ("cpu", MLX):
        return
    import torch  # callers that only need a device's name run without it

    if device.startswith("cuda"):
        torch.cuda.synchronize(device)
    elif device == "mps":
        torch.mps.synchronize()


def free_memory(device: str) -> int:
    """Return bytes that can still be allocated on `device`; unlimited on `meta`, which allocates nothing."""
    if device == "meta":
        return sys.maxsize
    if device.startswith(TORCH_ONLY):
        import torch

        if device.startswith("cuda"):
            return int(torch.cuda.mem_get_info(device)[0])
        return torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory()
    return int(psutil.virtual_memory().available)


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
