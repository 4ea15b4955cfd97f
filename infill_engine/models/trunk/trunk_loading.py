"""Loads a model from its source, on the chosen device and in the chosen precision."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

from infill_engine.errors import InputError, ModelDamagedError, ModelError, ModelTooLargeError
from infill_engine.models.checkpoint.user_data import prepared_folder
from infill_engine.models.registry import TRUNK
from infill_engine.models.runtime.devices import MLX, free_memory, on_apple_silicon, physical_cores, wanted_threads
from infill_engine.models.runtime.extras import TORCH, has_torch, installing
from infill_engine.models.trunk.backends.interface import Backend
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.denoiser import Denoiser
from infill_engine.models.trunk.model import CACHES, TrunkModel
from infill_engine.models.trunk.prepared import Prepared, find_prepared, prepare
from infill_engine.models.trunk.slots import SLOTS
from infill_engine.models.trunk.smoothing import Smoothing
from infill_engine.models.trunk.sources import Source
from infill_engine.settings import AUTO, ModelSettings

Report = Callable[[str, float], None]  # the current task, and the share of it that is done
INT8 = "int8"
T = TypeVar("T")
LIBRARIES = 150_000_000  # bytes of the process without a model


def load_trunk(source: Source, device: str, settings: ModelSettings, report: Report) -> TrunkModel:
    """Return a model of the trunk's architecture.

    On a CPU it computes in int8, unless another precision was chosen. Raises ModelDamagedError, ModelTooLargeError,
    ModelError if torch would have to compute it and is not installed, or InputError for a precision that is unknown or
    needs torch.
    """
    in_int8 = device == "cpu" and settings.dtype in (AUTO, INT8)
    # Hashing and compiling do not hold the interpreter's lock, so they run beside Python code.
    with ThreadPoolExecutor(2) as beside:
        if in_int8:
            beside.submit(find_openvino)
            found = beside.submit(find_prepared, source, prepared_folder())
        vocabulary = source.vocabulary()  # first: preparing the weights may take a while
        beside.submit(vocabulary.build_tables)
        if source.name != TRUNK:  # the default model is small, and one moment's free memory would decide for the day
            require_memory(source, device, settings)
        denoiser, note = _unless_damaged(source.denoiser, "The model writes from left to right")
        soft_prompt, other_note = _unless_damaged(source.soft_prompt, "The model proposes worse next edits")
        note = " ".join(filter(None, (note, other_note)))
        if in_int8:
            prepared = found.result() or prepare(source, prepared_folder(), report)
            report("compiling the model", 0.9)
            backend, note = _int8_backend(prepared, denoiser), " ".join(filter(None, (prepared.note, note)))
            return TrunkModel(backend, vocabulary, note, soft_prompt)
    return TrunkModel(_float_backend(source, denoiser, device, settings, report), vocabulary, note, soft_prompt)


def _unless_damaged(load: Callable[[], T | None], otherwise: str) -> tuple[T | None, str]:
    """Return what `load` returns, or what the user should know if the file is damaged."""
    try:
        return load(), ""
    except ModelDamagedError as error:
        return None, f"{error}. {otherwise} until infill-ls is installed again."


def memory_needed(config: TrunkConfig, bytes_each: int = 1) -> int:
    """Return the bytes that a model takes: weights of `bytes_each`, kept keys and values, and libraries."""
    kept = CACHES * config.layers * 2 * config.kv_size * SLOTS * 4
    return config.parameters * bytes_each + kept + LIBRARIES


def require_memory(source: Source, device: str, settings: ModelSettings) -> None:
    """Raise ModelTooLargeError if a model does not fit into the device's free memory."""
    if device == MLX:
        return
    bytes_each = 2
    if device == "cpu":
        bytes_each = 1 if settings.dtype in (AUTO, INT8) else 4 if "32" in settings.dtype else 2
    needed, free = memory_needed(source.config, bytes_each), free_memory(device)
    if needed > free:
        raise ModelTooLargeError(
            f"{source.name} needs about {needed / 1e9:.1f} GB and {device} has {free / 1e9:.1f} GB free. Free some "
            "memory, or use a smaller model"
        )


def find_openvino() -> bool:
    """Return whether OpenVINO is installed and can be imported, which takes 0.2 s."""
    try:
        import openvino  # noqa: F401
    except ImportError:
        return False
    return True


def _int8_backend(prepared: Prepared, denoiser: Denoiser | None) -> Backend:
    """Return the fastest backend here: torch where OpenVINO cannot be used, or has no fast int8 products.

    Without torch, OpenVINO computes as well as it can. Raises ModelError if neither can.
    """
    slow, note = None, "OpenVINO is not installed (`pip install openvino`)"
    if find_openvino():
        from infill_engine.models.trunk.backends.openvino_backend import OpenVinoBackend

        try:
            backend = OpenVinoBackend(prepared, wanted_threads() or physical_cores(), denoiser)
            if backend.is_fast():
                return backend
            slow, note = backend, "OpenVINO is slower on this processor"
        except RuntimeError:  # what OpenVINO raises
            note = "OpenVINO does not know this processor"
    if has_torch():
        from infill_engine.models.trunk.torch_loading import int8_backend

        return int8_backend(prepared, note, denoiser)
    if slow is None:
        raise ModelError(
            f"{note}, and torch, which would compute the model in its place, is not installed: run {installing(TORCH)}."
        )
    slow.profile += f"; slow on this processor: try {installing(MLX if on_apple_silicon() else TORCH)}"
    return slow


def _float_backend(
    source: Source, denoiser: Denoiser | None, device: str, settings: ModelSettings, report: Report
) -> Backend:
    """Return a backend that computes in a floating-point type. Raises InputError if that needs torch."""
    if device == MLX:
        from infill_engine.models.trunk.backends.mlx_backend import MlxBackend

        return MlxBackend(replace(source.open(), smoothing=Smoothing()), settings.float_type(), denoiser)
    if not has_torch():
        raise InputError(
            f"the precision `{settings.dtype}` on a CPU needs torch: run {installing(TORCH)}, or use `{AUTO}`"
        )
    from infill_engine.models.trunk.torch_loading import load_backend

    return load_backend(source.open(), denoiser, device, settings, report)
