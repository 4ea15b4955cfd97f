"""From a model's name to a loaded family. Safetensors only; nothing from a checkpoint is ever executed."""

from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import torch

from infill_engine.errors import InputError, ModelDamagedError
from infill_engine.models import a2d, dream, fim, llada, qwen2
from infill_engine.models.base import ModelFamily
from infill_engine.models.checkpoint import read_config, require_no_code
from infill_engine.models.duostream.family import DuostreamFamily
from infill_engine.models.folder import DEFAULT_FOLDER, verify
from infill_engine.models.scripted import ScriptedFamily
from infill_engine.settings import ModelSettings

Load = Callable[[Path, str, torch.dtype, ModelSettings], ModelFamily]


def load_duostream(folder: Path, device: str, dtype: torch.dtype, settings: ModelSettings) -> ModelFamily:  # noqa: ARG001
    """Loads the embedded default's family, which has nothing to set. Raises ModelDamagedError."""
    return DuostreamFamily.load(folder, device, dtype)


# By the model_type of config.json. What else tells two families apart, such as a token, is for the function to look at.
FAMILIES: dict[str, Load] = {
    "duostream": load_duostream,
    "Dream": dream.load,
    "dream": dream.load,
    "a2d-qwen2": a2d.load,
    "a2d-qwen3": a2d.load,
    "a2d-llama": a2d.load,
    "llada": llada.load,
    "qwen2": qwen2.load,
    "starcoder2": fim.load,
    "llama": fim.load,
    "gemma": fim.load,
}
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def load_family(name: str, device: str = "auto", settings: ModelSettings | None = None) -> ModelFamily:
    """Loads `default`, `scripted`, `scripted:FILE.json` or a folder with config.json and model.safetensors.

    Raises ModelNotFoundError, ModelDamagedError, ModelError where it does not fit into memory, or InputError for a
    device this machine does not have.
    """
    settings = settings or ModelSettings()
    folder = folder_of(name)
    if folder is None:
        return ScriptedFamily.load(name.partition(":")[2])
    config = read_config(folder)
    load = FAMILIES.get(config["model_type"])
    if load is None:
        require_no_code(config, folder)
        raise ModelDamagedError(
            f"{folder}/config.json has the model type {config['model_type']}, and this version knows only "
            f"{', '.join(FAMILIES)}"
        )
    verify(folder)
    chosen = choose_device(device)
    dtype = fastest_dtype(chosen) if settings.dtype == "auto" else DTYPES.get(settings.dtype)
    if dtype is None:
        raise InputError(f"dtype `{settings.dtype}` is not known; use `auto` or one of: {', '.join(DTYPES)}")
    return load(folder, chosen, dtype, settings)


def folder_of(name: str) -> Path | None:
    """The folder that a model's name stands for; None for a model without files."""
    if name == "scripted" or name.startswith("scripted:"):
        return None
    return DEFAULT_FOLDER if name == "default" else Path(name).expanduser()


def choose_device(wanted: str) -> str:
    """`auto` takes CUDA, then Apple's Metal, then the CPU. Raises InputError for a device that is not there."""
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if wanted == "auto":
        return next(device for device in ("cuda", "mps", "cpu") if available[device])
    if not available.get(wanted.partition(":")[0], False):
        there = ", ".join(device for device, is_there in available.items() if is_there)
        raise InputError(f"device `{wanted}` is not available here; use `auto` or one of: {there}")
    return wanted


def fastest_dtype(device: str) -> torch.dtype:
    """bfloat16 on GPUs; on a CPU whichever of bfloat16 and float32 multiplies matrices faster, measured now (~2 ms)."""
    if device != "cpu":
        return torch.bfloat16 if device.startswith("cuda") else torch.float16
    return min((torch.float32, torch.bfloat16), key=_matmul_seconds)


def _matmul_seconds(dtype: torch.dtype) -> float:
    left, right = torch.ones(96, 384, dtype=dtype), torch.ones(384, 1024, dtype=dtype)
    times = []
    for _ in range(6):
        started = perf_counter()
        left @ right
        times.append(perf_counter() - started)
    return sorted(times)[1]
