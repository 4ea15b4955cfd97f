"""From a model's name to a loaded family. Safetensors only; nothing from a checkpoint is ever executed."""

import json
from pathlib import Path
from time import perf_counter

import torch

from infill_engine.errors import InputError, ModelDamagedError, ModelNotFoundError
from infill_engine.models.base import ModelFamily
from infill_engine.models.duostream.family import DuostreamFamily
from infill_engine.models.folder import DEFAULT_FOLDER, verify
from infill_engine.models.scripted import ScriptedFamily

FAMILIES = {"duostream": DuostreamFamily}  # by the model_type of config.json


def load_family(name: str, device: str = "auto") -> ModelFamily:
    """Loads `default`, `scripted`, `scripted:FILE.json` or a folder with config.json and model.safetensors.

    Raises ModelNotFoundError, ModelDamagedError, or InputError for a device this machine does not have.
    """
    folder = folder_of(name)
    if folder is None:
        return ScriptedFamily.load(name.partition(":")[2])
    if not (folder / "config.json").is_file():
        raise ModelNotFoundError(
            f"no model at {folder}: give `default` or a folder with config.json, model.safetensors and tokenizer.json"
        )
    try:
        model_type = json.loads((folder / "config.json").read_text())["model_type"]
        family = FAMILIES[model_type]
    except (ValueError, TypeError, KeyError, OSError) as error:
        raise ModelDamagedError(
            f"{folder}/config.json names no model type this version knows ({', '.join(FAMILIES)})"
        ) from error
    verify(folder)
    chosen = choose_device(device)
    return family.load(folder, chosen, fastest_dtype(chosen))


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
