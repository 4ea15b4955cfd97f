"""Loads models that denoise a canvas or fill it in order. Nothing from a checkpoint is ever executed."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from infill_engine.errors import ModelDamagedError
from infill_engine.models.base import CanvasModel
from infill_engine.models.checkpoint import hub
from infill_engine.models.checkpoint.files import Checkpoint, read_config, require_no_code
from infill_engine.models.checkpoint.folder import verify
from infill_engine.models.published import fim, masked
from infill_engine.models.runtime.devices import device_for
from infill_engine.models.runtime.precision import dtype_of
from infill_engine.models.stock.loader import Opened
from infill_engine.process import Report
from infill_engine.settings import AUTO, ModelSettings

LoadFamily = Callable[[Opened], CanvasModel]


# By the model_type of config.json. The function checks anything else that tells two families apart, such as a token.
FAMILIES: dict[str, LoadFamily] = {
    "Dream": masked.load_dream,
    "dream": masked.load_dream,
    "a2d-qwen2": masked.load_a2d,
    "a2d-qwen3": masked.load_a2d,
    "a2d-llama": masked.load_a2d,
    "llada": masked.load_llada,
    "qwen2": masked.load_open_dcoder,
    "starcoder2": fim.load,
    "llama": fim.load_llama,
    "gemma": fim.load,
}


def load_canvas_model(
    name: str, device: str = AUTO, settings: ModelSettings | None = None, report: Report = hub.quietly
) -> CanvasModel:
    """Load a folder with config.json and model.safetensors, or a published model by its name `OWNER/NAME`, which is
    downloaded if it is not on this machine yet.

    Raises ModelNotFoundError, ModelDamagedError, ModelError if it does not fit into memory or cannot be downloaded, or
    InputError for a device this machine does not have.
    """
    settings = settings or ModelSettings()
    folder = hub.fetch(name, report) if hub.is_hub_name(name) else Path(name).expanduser()
    config = read_config(folder)
    require_known(config, folder)
    load = FAMILIES[config["model_type"]]
    verify(folder)
    chosen = device_for(config["model_type"], device)
    return load(Opened.of(folder, chosen, dtype_of(settings, chosen), settings))


def load_shapes(checkpoint: Checkpoint) -> CanvasModel:
    """Load a model onto torch's `meta` device, where tensors have shapes and no data: the checks are those of loading.

    Raises the same errors.
    """
    require_known(checkpoint.config, checkpoint.folder)
    opened = Opened.of(checkpoint.folder, "meta", torch.bfloat16, ModelSettings())
    return FAMILIES[checkpoint.config["model_type"]](opened)


def require_known(config: Mapping[str, Any], folder: Path) -> None:
    """Raise ModelDamagedError for a model type without an adapter here."""
    if config["model_type"] in masked.REFUSED:
        raise masked.refusal(folder)
    if config["model_type"] not in FAMILIES:
        require_no_code(config, folder)
        raise ModelDamagedError(
            f"{folder}/config.json has the model type {config['model_type']}, and this version knows only "
            f"{', '.join(FAMILIES)}"
        )
