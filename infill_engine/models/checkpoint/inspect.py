"""Describes a model without reading its weights: its own metadata, the checks of loading, and the memory it needs."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
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
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.files.safetensors_folder import config_of
from infill_engine.models.trunk.slots import SLOTS
from infill_engine.models.trunk.sources import QWEN2, ModelSource, source_of
from infill_engine.models.trunk.trunk_loading import memory_needed

PEEKED = "names and shapes of the tensors were read; the rest is checked once it is here"


@dataclass(frozen=True, slots=True)
class Described:
    """`family` is "" if the adapter refuses the model; `user_message` says why. Memory is in bytes, by precision."""

    name: str
    config: Mapping[str, Any]
    parameters: int
    memory: Mapping[str, int]
    device: str
    free: int
    remedy: str
    folder: str = ""
    family: str = ""
    checked: tuple[str, ...] = ()
    user_message: str = ""


def describe(name: str, device: str = "auto") -> Described:
    """Raise ModelError for a model that cannot be inspected, and InputError for one without files."""
    chosen = choose_device(device)
    folder = folder_of(name)
    if folder is None:
        raise InputError(f"{name} has no files to look at")
    if hub.is_hub_name(name) and not folder.is_dir():
        config, tensors = hub.peek(name)
        if config["model_type"] == QWEN2 and not config.get("auto_map"):  # diffusion models bring code of their own
            return replace(_of_sizes(name, config_of(config, folder), chosen), config=config, checked=(PEEKED,))
        require_torch(name)
        shapes = {key: Stored(folder, shape) for key, shape in tensors.items()}
        return _published(name, Checkpoint(folder, config, shapes), chosen, "", (PEEKED,))
    if (source := source_of(folder, trained_folder(folder))) is not None:
        return _of_trunk(name, folder, source, chosen)
    require_torch(name)
    return _here(name, folder, chosen)


def _here(name: str, folder: Path, device: str) -> Described:
    """Describe a model that torch computes, from its files."""
    from infill_engine.models.canvas_loading import load_shapes

    checkpoint = Checkpoint(folder, read_config(folder), {})
    try:
        checkpoint = open_checkpoint(folder)
        family, checked = _checked(load_shapes(checkpoint), checkpoint)
    except InfillError as error:
        return _published(name, checkpoint, device, "", (), str(error))
    return _published(name, checkpoint, device, family, checked)


def _published(
    name: str, checkpoint: Checkpoint, device: str, family: str, checked: tuple[str, ...], user_message: str = ""
) -> Described:
    """Describe a model that torch computes."""
    from infill_engine.models.canvas_loading import require_known
    from infill_engine.models.runtime.memory import OVERHEAD, PRECISIONS, remedy_for

    folder = checkpoint.folder
    try:
        require_known(checkpoint.config, folder)
    except InfillError as error:
        user_message = str(error)
    memory = {each: int(checkpoint.bytes_in(dtype, stored) * OVERHEAD) for each, dtype, stored in PRECISIONS}
    free = free_memory(device)
    remedy = "" if memory["bf16"] <= free else remedy_for(checkpoint, free, memory["bf16"])
    found = Described(name, checkpoint.config, checkpoint.parameters, memory, device, free, remedy)
    path = str(folder) if folder.is_dir() else ""
    return replace(found, folder=path, family=family, checked=checked, user_message=user_message)


def _of_trunk(name: str, path: Path, source: ModelSource, device: str) -> Described:
    """Describe a model of the trunk's architecture."""
    own, found = source.name == TRUNK, _of_sizes(name, source.config, device)
    found = replace(found, folder=str(path), config={**found.config, "model_type": TRUNK if own else QWEN2})
    try:
        vocabulary = source.vocabulary()
        source.open()
    except InfillError as error:
        return replace(found, user_message=str(error))
    checked = (
        "the weights are whole, and their sizes fit together",
        f"the tokenizer has the tokens of fill-in-the-middle; logits are {source.config.vocabulary} wide",
        f"a prompt and its texts may have {SLOTS} tokens, {len(vocabulary)} different ones",
    )
    return replace(found, family=TRUNK if own else QWEN_CODER.name, checked=checked)


def _of_sizes(name: str, config: TrunkConfig, device: str) -> Described:
    """Describe what follows from the sizes of a model of the trunk's architecture."""
    free = free_memory(device)
    memory = {precision: memory_needed(config, size) for precision, size in (("bf16", 2), ("int8", 1))}
    remedy = "" if memory["int8"] <= free else "Free some memory, or use a smaller model"
    return Described(name, {"model_type": QWEN2, **asdict(config)}, config.parameters, memory, device, free, remedy)


def _checked(family: CanvasModel, checkpoint: Checkpoint) -> tuple[str, tuple[str, ...]]:
    info = family.info
    return info.name, (
        f"config.json describes what the adapter `{info.name}` computes",
        f"{len(checkpoint.tensors)} tensors have the names and shapes that config.json asks for",
        f"the tokenizer can encode every text and has the tokens that are needed; logits are {info.vocabulary} wide",
        f"a hole may have up to {info.max_slots} slots",
    )
