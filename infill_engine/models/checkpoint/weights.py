"""Loads a checkpoint's weights into a network, after checking their names and shapes."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from infill_engine.errors import ModelDamagedError, ModelTooLargeError
from infill_engine.models.checkpoint.files import REMEDY, Checkpoint
from infill_engine.models.checkpoint.folder import name_of
from infill_engine.models.quantization.weight_only import PackedMatrix, is_packed, pack, replace_parameter, takes_packed
from infill_engine.models.runtime.allocator import is_out_of_memory

COMPUTED = ("rotary_emb.inv_freq",)  # tensors that some checkpoints contain and every network computes itself
_FILLING = ("normal_", "uniform_", "zero_", "fill_", "trunc_normal_")


def load_weights(
    network: nn.Module,
    checkpoint: Checkpoint,
    device: str,
    dtype: torch.dtype,
    name_of: Callable[[str], str] = str,
    tied: Mapping[str, str] | None = None,
    stored: str = "",
) -> nn.Module:
    """Give `network` the checkpoint's weights and make it ready for inference.

    `name_of` turns a parameter's name into the tensor's; `tied` maps parameters to the one whose weights they share;
    tensors that end in one of COMPUTED may be left over. All names and shapes are compared before any weight is read.
    With `stored`, matrices are packed one after another, so that at most one of them is in memory in full.
    Raises ModelDamagedError, or ModelError when memory runs out.
    """
    tied = tied or {}
    wanted = {name: (name_of(tied.get(name, name)), tuple(value.shape)) for name, value in network.state_dict().items()}
    _require_fit(checkpoint, wanted, {name_of(name) for name in tied})
    weights: dict[str, Tensor] = {}
    packed: dict[str, PackedMatrix] = {}
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
        while packed:  # one at a time: a kernel may need another layout, and two copies of all would be too large
            replace_parameter(network, *packed.popitem())
        return network.to(device).eval().requires_grad_(False)


@contextmanager
def _explained(checkpoint: Checkpoint, device: str) -> Iterator[None]:
    """Inside the context, an unreadable file or a lack of memory becomes a ModelError that says what to do."""
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


def _packable(network: nn.Module, wanted: Mapping[str, tuple[str, tuple[int, ...]]]) -> dict[str, str]:
    """Return the parameters that can be packed, by their tensors: matrices that no other parameter shares."""
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
    """Raise ModelDamagedError unless the tensors are those the network needs; those in `spare` are optional."""
    missing = sorted(source for source, _ in wanted.values() if source not in checkpoint.tensors)
    if missing:
        raise ModelDamagedError(f"{checkpoint.folder} lacks {_some(missing)}; {REMEDY}")
    used = {source for source, _ in wanted.values()}
    left = [name for name in checkpoint.tensors if name not in used | spare and not name.endswith(COMPUTED)]
    if left:
        raise ModelDamagedError(
            f"{checkpoint.folder} holds tensors that its config.json does not mention ({_some(sorted(left))}): it is "
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


class Uninitialised(TorchFunctionMode):
    """Inside the context, new parameters stay uninitialised and so without memory, because they will be replaced.

    The meta device would do the same, but its first use imports torch's compiler, half a second and 80 MB, and it
    clears the tables that a network computes itself.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = kwargs or {}
        if getattr(func, "__module__", "") == "torch.nn.init" or getattr(func, "__name__", "") in _FILLING:
            return args[0] if args else given["tensor"]
        return func(*args, **given)
