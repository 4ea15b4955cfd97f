"""Reads a published model's folder safely: its contents, and whether an adapter here supports them.

Nothing in a checkpoint is executed. config.json and the headers of the safetensors files are read and compared with
what the network needs before the first weight is read. Checkpoints with their own code and pickles are refused, because
loading those *is* executing them. Every refusal says what to do.

    checkpoint = open_checkpoint(folder)              config, and names and shapes of all tensors: no weight yet
    memory.require_memory(checkpoint, device, dtype)  before anything is allocated
    weights.load_weights(network, checkpoint, …)      one tensor after another, directly to device and dtype
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError, safe_open

from infill_engine.errors import ModelDamagedError, ModelNotFoundError
from infill_engine.models.checkpoint.folder import INDEX, WEIGHTS

if TYPE_CHECKING:
    import torch

PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
REMEDY = "fetch the model's files again"


@dataclass(frozen=True, slots=True)
class Stored:
    """Where a tensor is, and its shape."""

    file: Path
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A folder's config.json and the tensors of its safetensors files, by name."""

    folder: Path
    config: Mapping[str, Any]
    tensors: Mapping[str, Stored]

    @property
    def width(self) -> int:
        """The width of the logits, which config.json states under several names; 0 if it is missing."""
        size = self.config.get("embedding_size") or self.config.get("vocab_size")
        return size if isinstance(size, int) else 0

    @property
    def parameters(self) -> int:
        return sum(math.prod(stored.shape) for stored in self.tensors.values())

    def bytes_in(self, dtype: "torch.dtype", stored: str = "") -> int:
        """Return bytes of all weights in memory, in `dtype` or with their matrices packed as `stored` says."""
        from infill_engine.models.quantization.weight_only import bytes_of  # needs torch

        return bytes_of({name: tensor.shape for name, tensor in self.tensors.items()}, dtype.itemsize, stored)


def read_config(folder: Path) -> dict[str, Any]:
    """config.json, an object with a `model_type`. Raises ModelNotFoundError or ModelDamagedError."""
    path = folder / "config.json"
    if not path.is_file():
        raise ModelNotFoundError(
            f"no model at {folder}: give `default` or a folder with config.json, model.safetensors and tokenizer.json"
        )
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelDamagedError(f"{path} cannot be read ({error}); {REMEDY}") from error
    if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
        raise ModelDamagedError(f"{path} has no model type; {REMEDY}")
    return config


def open_checkpoint(folder: Path) -> Checkpoint:
    """Read the metadata in `folder`, but no weights. Raises ModelNotFoundError or ModelDamagedError."""
    config = read_config(folder)
    tensors: dict[str, Stored] = {}
    for path in weight_files(folder):
        tensors |= {name: Stored(path, shape) for name, shape in shapes_in(path).items()}
    return Checkpoint(folder, config, tensors)


def shapes_in(path: Path, remedy: str = REMEDY) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a safetensors file's tensors. Raises ModelDamagedError unless the file is whole."""
    try:
        with safe_open(path, framework="np") as file:
            return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118  (no mapping)
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelDamagedError(f"{path} is damaged or cut short ({error}); {remedy}") from error


def require_no_code(config: Mapping[str, Any], folder: Path) -> None:
    """Raise ModelDamagedError for a checkpoint with its own code, when no adapter here replaces that code."""
    if config.get("auto_map"):
        code = ", ".join(sorted({str(value).partition(".")[0] + ".py" for value in _flat(config["auto_map"])}))
        raise ModelDamagedError(
            f"{folder} asks to run code of its own ({code}), which may compute something other than a stock "
            f"{config.get('model_type')}. infill-ls never runs code from a checkpoint; use a model of a family it knows"
        )


def require_positive(config: Mapping[str, Any], folder: Path, names: Iterable[str]) -> None:
    """Raise ModelDamagedError unless every field of config.json in `names` is a positive whole number."""
    for name in names:
        value = config.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
            raise ModelDamagedError(f"{folder}/config.json: {name} is {value!r}, not a positive number; {REMEDY}")


def require_layers(checkpoint: Checkpoint, config: Mapping[str, Any]) -> None:
    """Raise ModelDamagedError if config.json has more layers than there are tensors: building them takes memory."""
    layers, tensors = config["num_hidden_layers"], len(checkpoint.tensors)
    if layers > tensors:
        raise ModelDamagedError(
            f"{checkpoint.folder}/config.json: num_hidden_layers is {layers}, and there are only {tensors} tensors; "
            f"{REMEDY}"
        )


def require_values(config: Mapping[str, Any], folder: Path, known: Mapping[str, Sequence[Any]]) -> None:
    """Raise ModelDamagedError for a field whose value would make the network compute what no adapter here does.

    `known` has the supported values; an absent field has its family's default.
    """
    for name, values in known.items():
        if name in config and config[name] not in values:
            raise ModelDamagedError(
                f"{folder}/config.json: {name} is {config[name]!r}; this version knows only "
                f"{' or '.join(map(repr, values))}. Use the published model as it is, or one of another family"
            )


def indexed_files(folder: Path, remedy: str = REMEDY) -> list[str]:
    """Return the names of the files in the index of `folder`. Raises ModelDamagedError if it cannot be read."""
    try:
        found = json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"]
        return sorted({Path(str(name)).name for name in found.values()})
    except FileNotFoundError as error:
        raise ModelDamagedError(f"{folder / INDEX} is missing; {remedy}") from error
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelDamagedError(f"{folder / INDEX} cannot be read ({error}); {remedy}") from error


def weight_files(folder: Path) -> list[Path]:
    """Return the safetensors files of `folder`. Raises ModelDamagedError unless all of them are there."""
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    if (folder / INDEX).is_file():
        names = indexed_files(folder)
        missing = [name for name in names if not (folder / name).is_file()]
        if missing:
            raise ModelDamagedError(f"{folder} lacks {', '.join(missing)} of {len(names)} files; {REMEDY}")
        return [folder / name for name in names]
    pickles = sorted(path.name for pattern in PICKLES for path in folder.glob(pattern))
    if pickles:
        raise ModelDamagedError(
            f"{folder} holds its weights as a pickle ({pickles[0]}). Loading one runs whatever code is in it, so "
            "infill-ls reads safetensors only; fetch that version of the model, or convert it"
        )
    raise ModelDamagedError(f"{folder} holds no {WEIGHTS}; {REMEDY}")


def _flat(value: Any) -> list[Any]:
    """Return the leaves of nested objects and lists."""
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for item in value for leaf in _flat(item)] if isinstance(value, list) else [value]
