"""Describes a model without reading its weights: its own metadata, the checks of loading, and the memory it needs."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from infill_engine.errors import InfillError, InputError
from infill_engine.models.base import CanvasModel
from infill_engine.models.checkpoint import hub
from infill_engine.models.checkpoint.files import Checkpoint, Stored, open_checkpoint, read_config
from infill_engine.models.published.fim_tokens import QWEN_CODER
from infill_engine.models.registry import TRUNK, folder_of, trained_folder
from infill_engine.models.runtime.devices import choose_device, free_memory
from infill_engine.models.runtime.extras import require_torch
from infill_engine.models.trunk.slots import SLOTS
from infill_engine.models.trunk.sources import QWEN2, Source, source_of
from infill_engine.models.trunk.trunk_loading import memory_needed


@dataclass(frozen=True, slots=True)
class Described:
    """`family` is "" if the adapter refuses the model; `user_message` says why. Memory is in bytes, by precision."""

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
    """Raise ModelError for a model that cannot be inspected, and InputError for one without files."""
    chosen = choose_device(device)
    folder = folder_of(name)
    if folder is None:
        raise InputError(f"{name} has no files to look at")
    is_here = folder.is_dir() or not hub.is_hub_name(name)
    if is_here and (source := source_of(folder, trained_folder(folder))) is not None:
        return _of_trunk(name, folder, source, chosen)
    require_torch(name)
    return _published(name, folder, chosen, is_here)


def _published(name: str, folder: Path, device: str, is_here: bool) -> Described:
    """Describe a model that torch computes, if it `is_here` or as it is published."""
    from infill_engine.models.canvas_loading import load_shapes, require_known
    from infill_engine.models.runtime.memory import OVERHEAD, PRECISIONS, remedy_for

    if not is_here:
        config, tensors = hub.peek(name)
        checkpoint = Checkpoint(folder, config, {key: Stored(folder, shape) for key, shape in tensors.items()})
        found, user_message = "", ""
        checked: tuple[str, ...] = ("names and shapes of the tensors were read; the rest is checked once it is here",)
    else:
        checkpoint = Checkpoint(folder, read_config(folder), {})
        found, checked, user_message = "", (), ""
        try:
            checkpoint = open_checkpoint(folder)
            found, checked = _checked(load_shapes(checkpoint), checkpoint)
        except InfillError as error:
            user_message = str(error)
    try:
        require_known(checkpoint.config, folder)
    except InfillError as error:
        user_message = str(error)
    memory = {each: int(checkpoint.bytes_in(dtype, stored) * OVERHEAD) for each, dtype, stored in PRECISIONS}
    free = free_memory(device)
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
        device,
        free,
        remedy,
    )


def _of_trunk(name: str, path: Path, source: Source, device: str) -> Described:
    """Describe a model of the trunk's architecture."""
    own, config, free = source.name == TRUNK, source.config, free_memory(device)
    checked: tuple[str, ...] = ()
    user_message = ""
    try:
        vocabulary = source.vocabulary()
        source.open()
        checked = (
            "the weights are whole, and their sizes fit together",
            f"the tokenizer has the tokens of fill-in-the-middle; logits are {config.vocabulary} wide",
            f"a prompt and its texts may have {SLOTS} tokens, {len(vocabulary)} different ones",
        )
    except InfillError as error:
        user_message = str(error)
    memory = {precision: memory_needed(config, size) for precision, size in (("bf16", 2), ("int8", 1))}
    return Described(
        name,
        str(path),
        {"model_type": TRUNK if own else QWEN2, **asdict(config)},
        "" if user_message else TRUNK if own else QWEN_CODER.name,
        checked,
        user_message,
        config.parameters,
        memory,
        device,
        free,
        "" if memory["int8"] <= free else "Free some memory, or use a smaller model",
    )


def _checked(family: CanvasModel, checkpoint: Checkpoint) -> tuple[str, tuple[str, ...]]:
    info = family.info
    return info.name, (
        f"config.json describes what the adapter `{info.name}` computes",
        f"{len(checkpoint.tensors)} tensors have the names and shapes that config.json asks for",
        f"the tokenizer writes every text and has the tokens that are needed; logits are {info.vocabulary} wide",
        f"a hole may have up to {info.max_slots} slots",
    )
