"""A published model's folder, read safely: what is in it, whether it fits, and its weights into a network.

Nothing of a checkpoint is executed. config.json and the headers of the safetensors files are read and compared with
what the network needs before the first weight is; code that a checkpoint brings along and pickles are refused, because
loading those *is* executing them. Every refusal says what to do.

    checkpoint = open_checkpoint(folder)              config, and names and shapes of all tensors: no weight yet
    require_memory(checkpoint, device, dtype)         before anything is allocated
    load_weights(network, checkpoint, …)              one tensor after another, straight to device and dtype
"""

import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from infill_engine.errors import ModelDamagedError, ModelNotFoundError, ModelTooLargeError
from infill_engine.models.folder import INDEX, WEIGHTS, name_of
from infill_engine.models.memory import is_out_of_memory
from infill_engine.models.quantise import INT4, INT8, Packed, bytes_of, is_packed, pack, replace_parameter, takes_packed

PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
PRECISIONS = (  # of a user's choice, the largest first
    ("fp32", torch.float32, ""),
    ("bf16", torch.bfloat16, ""),
    ("int8", torch.bfloat16, INT8),
    ("int4", torch.bfloat16, INT4),
)
OVERHEAD = 1.1  # times the weights: activations, keys and values, what a library sets up
COMPUTED = ("rotary_emb.inv_freq",)  # tensors that some checkpoints hold and every network computes for itself
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
        """How many tokens config.json says there are; 0 if it does not say."""
        size = self.config.get("vocab_size")
        return size if isinstance(size, int) else 0

    @property
    def parameters(self) -> int:
        return sum(math.prod(stored.shape) for stored in self.tensors.values())

    def bytes_in(self, dtype: torch.dtype, stored: str = "") -> int:
        """Bytes of all weights in memory, in `dtype` or with their matrices packed as `stored` says."""
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
        raise ModelDamagedError(f"{path} names no model type; {REMEDY}")
    return config


def open_checkpoint(folder: Path) -> Checkpoint:
    """Reads what is in `folder`, no weight. Raises ModelNotFoundError or ModelDamagedError."""
    config = read_config(folder)
    tensors: dict[str, Stored] = {}
    for path in weight_files(folder):
        try:
            with safe_open(path, framework="pt") as file:
                for name in file.keys():  # noqa: SIM118  (no mapping)
                    tensors[name] = Stored(path, tuple(file.get_slice(name).get_shape()))
        except (SafetensorError, OSError, ValueError) as error:
            raise ModelDamagedError(f"{path} is damaged or cut short ({error}); {REMEDY}") from error
    return Checkpoint(folder, config, tensors)


def require_no_code(config: Mapping[str, Any], folder: Path) -> None:
    """Raises ModelDamagedError for a checkpoint that brings its own code, when no adapter here replaces that code."""
    if config.get("auto_map"):
        code = ", ".join(sorted({str(value).partition(".")[0] + ".py" for value in _flat(config["auto_map"])}))
        raise ModelDamagedError(
            f"{folder} asks to run code of its own ({code}), which may compute something else than a stock "
            f"{config.get('model_type')}. infill-ls never runs code from a checkpoint; use a model of a family it knows"
        )


def require_positive(config: Mapping[str, Any], folder: Path, names: Iterable[str]) -> None:
    """Raises ModelDamagedError unless every field of config.json in `names` is a positive whole number."""
    for name in names:
        value = config.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
            raise ModelDamagedError(f"{folder}/config.json: {name} is {value!r}, not a positive number; {REMEDY}")


def require_layers(checkpoint: Checkpoint, config: Mapping[str, Any]) -> None:
    """Raises ModelDamagedError where config.json tells of more layers than there can be: building them takes memory."""
    layers, tensors = config["num_hidden_layers"], len(checkpoint.tensors)
    if layers > tensors:
        raise ModelDamagedError(
            f"{checkpoint.folder}/config.json: num_hidden_layers is {layers}, and there are only {tensors} tensors; "
            f"{REMEDY}"
        )


def require_values(config: Mapping[str, Any], folder: Path, known: Mapping[str, Sequence[Any]]) -> None:
    """Raises ModelDamagedError for a field whose value would make the network compute what no adapter here does.

    `known` holds the values that are understood; a field that is absent is as its family's default has it.
    """
    for name, values in known.items():
        if name in config and config[name] not in values:
            raise ModelDamagedError(
                f"{folder}/config.json: {name} is {config[name]!r}; this version knows only "
                f"{' or '.join(map(repr, values))}. Use the published model as it is, or one of another family"
            )


def require_memory(
    checkpoint: Checkpoint, device: str, dtype: torch.dtype, stored: str = "", free: int | None = None
) -> None:
    """Raises ModelError if the weights do not fit what `device` has free, in bytes; None asks the device.

    They are in `dtype`, or packed as `stored` says.
    """
    available = free_memory(device) if free is None else free
    needed = int(checkpoint.bytes_in(dtype, stored) * OVERHEAD)
    if needed > available:
        raise ModelTooLargeError(
            f"{name_of(checkpoint.folder)} needs about {needed / 1e9:.1f} GB and {device} has {available / 1e9:.1f} GB "
            f"free. {remedy_for(checkpoint, available, needed)}"
        )


def remedy_for(checkpoint: Checkpoint, available: int, needed: int) -> str:
    """What to do about a model that needs more bytes than there are: the largest precision that fits, or else."""
    for name, dtype, stored in PRECISIONS:
        smaller = int(checkpoint.bytes_in(dtype, stored) * OVERHEAD)
        if smaller <= available and smaller < needed:
            return f"The precision {name} takes {smaller / 1e9:.1f} GB; or free some memory, or use a smaller model"
    return "It does not fit even with the precision int4: free some memory, choose another device, or a smaller model"


def free_memory(device: str) -> int:
    """Bytes that can still be allocated on `device`; on `meta`, where nothing is, as many as one likes."""
    if device == "meta":
        return sys.maxsize
    if device.startswith("cuda"):
        return int(torch.cuda.mem_get_info(device)[0])
    if device.startswith("mps"):
        return torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory()
    return int(psutil.virtual_memory().available)


def load_weights(
    network: nn.Module,
    checkpoint: Checkpoint,
    device: str,
    dtype: torch.dtype,
    name_of: Callable[[str], str] = str,
    tied: Mapping[str, str] | None = None,
    stored: str = "",
) -> nn.Module:
    """Gives `network` the checkpoint's weights and makes it ready to serve.

    `name_of` turns a parameter's name into the tensor's; `tied` maps parameters to the one whose weights they share;
    tensors that end in one of COMPUTED may be left over. Names and shapes are all compared before any weight is read.
    With `stored` matrices are packed one after another, so that at no time more than one of them is there in full.
    Raises ModelDamagedError, or ModelError when memory runs out.
    """
    tied = tied or {}
    wanted = {name: (name_of(tied.get(name, name)), tuple(value.shape)) for name, value in network.state_dict().items()}
    _require_fit(checkpoint, wanted, {name_of(name) for name in tied})
    weights: dict[str, Tensor] = {}
    packed: dict[str, Packed] = {}
    sources = {source for source, _ in wanted.values()}
    small = _packable(network, wanted) if stored else {}
    with _explained(checkpoint, device):
        for path in sorted({checkpoint.tensors[source].file for source in sources}):
            with safe_open(path, framework="pt") as file:
                for source in sorted(sources.intersection(file.keys())):
                    tensor = file.get_tensor(source).to(device=device, dtype=dtype)
                    if source in small:
                        packed[small[source]] = pack(tensor, stored)
                    else:
                        weights[source] = tensor
        network.load_state_dict(
            {name: weights[source] for name, (source, _) in wanted.items() if name not in packed},
            assign=True,
            strict=not packed,
        )
        while packed:  # each in its turn: a kernel may want another layout, and both of all would be too much
            replace_parameter(network, *packed.popitem())
        return network.to(device).eval().requires_grad_(False)


@contextmanager
def _explained(checkpoint: Checkpoint, device: str) -> Iterator[None]:
    """While it lasts, a file that cannot be read and memory that runs out become a ModelError that says what to do."""
    try:
        yield
    except (SafetensorError, OSError) as error:
        raise ModelDamagedError(f"{checkpoint.folder} cannot be read ({error}); {REMEDY}") from error
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise ModelTooLargeError(
            f"{name_of(checkpoint.folder)} does not fit {device}; use a smaller model, or the precision int8 or int4"
        ) from error


def uninitialised() -> AbstractContextManager[object]:
    """While it lasts, new parameters stay as they come, untouched and so without memory: others will replace them.

    The meta device would do the same, but its first use imports torch's compiler, half a second and 80 MB, and it
    empties the tables that a network computes for itself.
    """
    return _Uninitialised()


def weight_files(folder: Path) -> list[Path]:
    """The safetensors files of `folder`, all of them there."""
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    if (folder / INDEX).is_file():
        try:
            names = sorted({Path(str(name)).name for name in _index(folder)["weight_map"].values()})
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise ModelDamagedError(f"{folder / INDEX} cannot be read ({error}); {REMEDY}") from error
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


def _index(folder: Path) -> Any:
    return json.loads((folder / INDEX).read_text(encoding="utf-8"))


def _packable(network: nn.Module, wanted: Mapping[str, tuple[str, tuple[int, ...]]]) -> dict[str, str]:
    """The parameters that can be packed, by their tensors: matrices that nothing else shares."""
    uses = Counter(source for source, _ in wanted.values())
    return {
        source: name
        for name, (source, shape) in wanted.items()
        if uses[source] == 1 and is_packed(source, shape) and takes_packed(network, name)
    }


def _require_fit(
    checkpoint: Checkpoint,
    wanted: Mapping[str, tuple[str, tuple[int, ...]]],
    spare: set[str],
) -> None:
    """Raises ModelDamagedError unless the tensors are those the network wants; those in `spare` may be there or not."""
    missing = sorted(source for source, _ in wanted.values() if source not in checkpoint.tensors)
    if missing:
        raise ModelDamagedError(f"{checkpoint.folder} lacks {_some(missing)}; {REMEDY}")
    used = {source for source, _ in wanted.values()}
    left = [name for name in checkpoint.tensors if name not in used | spare and not name.endswith(COMPUTED)]
    if left:
        raise ModelDamagedError(
            f"{checkpoint.folder} holds tensors its config.json does not speak of ({_some(sorted(left))}): it is "
            f"another kind of model, or its files are mixed up; {REMEDY}"
        )
    for source, shape in wanted.values():
        if checkpoint.tensors[source].shape != shape:
            raise ModelDamagedError(
                f"{checkpoint.folder}: {source} has the shape {checkpoint.tensors[source].shape}, and config.json "
                f"asks for {shape}; {REMEDY}"
            )


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _flat(value: Any) -> list[Any]:
    """The leaves of nested objects and lists."""
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for item in value for leaf in _flat(item)] if isinstance(value, list) else [value]


_FILLING = ("normal_", "uniform_", "zero_", "fill_", "trunc_normal_")


class _Uninitialised(TorchFunctionMode):
    """See `uninitialised`."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = kwargs or {}
        if getattr(func, "__module__", "") == "torch.nn.init" or getattr(func, "__name__", "") in _FILLING:
            return args[0] if args else given["tensor"]
        return func(*args, **given)
