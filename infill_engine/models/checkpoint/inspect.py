"""A model looked at without reading its weights: what it says of itself, what loading would check, what it would take.

The checks are those of loading, made by loading it: onto torch's `meta` device, where tensors have shapes and no data.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from infill_engine.errors import InfillError, InputError
from infill_engine.models.base import CanvasModel
from infill_engine.models.checkpoint import hub
from infill_engine.models.checkpoint.files import Checkpoint, Stored, open_checkpoint, read_config
from infill_engine.models.loading import FAMILIES, choose_device, require_known
from infill_engine.models.registry import folder_of
from infill_engine.models.runtime.memory import OVERHEAD, PRECISIONS, free_memory, remedy_for
from infill_engine.settings import ModelSettings

DEFAULT_TYPE = "duostream"  # packed in its files, and loaded in its own way


@dataclass(frozen=True, slots=True)
class Described:
    """`family` is "" where the adapter refuses, and `user_message` says why. Memory is in bytes, by precision."""

    name: str
    folder: str
    config: Mapping[str, Any]
    family: str
    checked: tuple[str, ...]
    user_message: str
    parameters: int
    memory: Mapping[str, int]
    device: str
    free: int
    remedy: str


def describe(name: str, device: str = "auto") -> Described:
    """Raises ModelError for a model that cannot be looked at, and InputError for one without files."""
    chosen = choose_device(device)
    folder = folder_of(name)
    if folder is None:
        raise InputError(f"{name} has no files to look at")
    if hub.is_hub_name(name) and not folder.is_dir():
        config, tensors = hub.peek(name)
        checkpoint = Checkpoint(folder, config, {key: Stored(folder, shape) for key, shape in tensors.items()})
        found, user_message = "", ""
        checked: tuple[str, ...] = ("names and shapes of the tensors were read; the rest is checked once it is here",)
    else:
        checkpoint = Checkpoint(folder, read_config(folder), {})
        found, checked, user_message = "", (), ""
        try:
            checkpoint = open_checkpoint(folder)
            found, checked = _checked(_loaded(checkpoint), checkpoint)
        except InfillError as error:
            user_message = str(error)
    try:
        require_known(checkpoint.config, folder)
    except InfillError as error:
        user_message = str(error)
    memory, free = _memory(checkpoint), free_memory(chosen)
    remedy = "" if memory["bf16"] <= free else remedy_for(checkpoint, free, memory["bf16"])
    return Described(
        name,
        str(folder) if folder.is_dir() else "",
        checkpoint.config,
        found,
        checked,
        user_message,
        checkpoint.parameters,
        memory,
        chosen,
        free,
        remedy,
    )


def _loaded(checkpoint: Checkpoint) -> CanvasModel:
    require_known(checkpoint.config, checkpoint.folder)
    model_type = checkpoint.config["model_type"]
    device = "cpu" if model_type == DEFAULT_TYPE else "meta"
    return FAMILIES[model_type](checkpoint.folder, device, torch.bfloat16, ModelSettings())


def _checked(family: CanvasModel, checkpoint: Checkpoint) -> tuple[str, tuple[str, ...]]:
    info = family.info
    return info.name, (
        f"config.json describes what the adapter `{info.name}` computes",
        f"{len(checkpoint.tensors)} tensors have the names and shapes that config.json asks for",
        f"the tokenizer writes every text and has the tokens that are needed; logits are {info.vocabulary} wide",
        f"a hole may have up to {info.max_slots} slots",
    )


def _memory(checkpoint: Checkpoint) -> dict[str, int]:
    """Bytes by precision, with what activations and the rest take."""
    if checkpoint.config.get("model_type") == DEFAULT_TYPE:
        return {name: int(checkpoint.bytes_in(dtype) * OVERHEAD) for name, dtype, stored in PRECISIONS if not stored}
    return {name: int(checkpoint.bytes_in(dtype, stored) * OVERHEAD) for name, dtype, stored in PRECISIONS}
