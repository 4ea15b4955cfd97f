"""Loads a model from its source, on the chosen device and in the chosen precision."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from infill_engine.errors import InputError, ModelDamagedError, ModelError, ModelTooLargeError
from infill_engine.models.checkpoint.user_data import prepared_folder
from infill_engine.models.registry import TRUNK
from infill_engine.models.runtime.devices import MLX, free_memory, on_apple_silicon, physical_cores, wanted_threads
from infill_engine.models.runtime.extras import TORCH, has_torch, installing
from infill_engine.models.trunk.backends.interface import Backend
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.denoiser import Denoiser
from infill_engine.models.trunk.model import CACHES, TrunkModel
from infill_engine.models.trunk.prepared import Prepared, delete, load_prepared
from infill_engine.models.trunk.slots import SLOTS
from infill_engine.models.trunk.smoothing import Smoothing
from infill_engine.models.trunk.sources import Source
from infill_engine.settings import AUTO, ModelSettings

if TYPE_CHECKING:
    import openvino as ov

    from infill_engine.models.trunk.backends.openvino_backend import OpenVinoBackend

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
    if source.name != TRUNK:  # the default model is small, and one moment's free memory would decide for the day
        require_memory(source, device, settings)
    denoiser, note = _unless_damaged(source.denoiser, "The model writes from left to right")
    # Hashing, compiling and computing do not hold the interpreter's lock, so they run beside Python code.
    with ThreadPoolExecutor(2) as beside:
        kept = beside.submit(_kept_backend, source, denoiser) if in_int8 and find_openvino() else None
        vocabulary = source.vocabulary()  # first: preparing the weights may take a while
        beside.submit(vocabulary.build_tables)
        soft_prompt, other_note = _unless_damaged(source.soft_prompt, "The model proposes worse next edits")
        backend = kept.result() if kept is not None else None
        if backend is None and in_int8:
            prepared = load_prepared(source, prepared_folder(), report)
            report("compiling the model", 0.9)
            backend, other_note = _int8_backend(prepared, source, denoiser), f"{prepared.note} {other_note}".strip()
    backend = backend or _float_backend(source, denoiser, device, settings, report)
    return TrunkModel(backend, vocabulary, f"{note} {other_note}".strip(), soft_prompt)


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


def _kept_backend(source: Source, denoiser: Denoiser | None) -> Backend | None:
    """Return OpenVINO's backend with the graph that an earlier start has kept.

    None if there is none; one that is damaged, or that torch computes faster, is deleted.
    """
    from infill_engine.models.trunk.graph_files import find_graph, is_intact

    folder = find_graph(source, denoiser, prepared_folder())
    if folder is None:
        return None
    backend = None
    with ThreadPoolExecutor(1) as beside:
        intact = beside.submit(is_intact, folder)
        with suppress(RuntimeError):  # what OpenVINO raises
            backend = _openvino_backend(source.config, folder, denoiser)
    if backend is not None and intact.result():
        return backend
    _try_to_delete(folder)
    return None


def _int8_backend(prepared: Prepared, source: Source, denoiser: Denoiser | None) -> Backend:
    """Return the fastest backend here: torch where OpenVINO cannot be used, or has no fast int8 products.

    Without torch, OpenVINO computes as well as it can. Raises ModelError if neither can.
    """
    note = "OpenVINO is not installed (`pip install openvino`)"
    if find_openvino():
        note = "OpenVINO is slower on this processor"
        try:
            if (backend := _new_backend(prepared, source, denoiser)) is not None:
                return backend
        except RuntimeError:  # what OpenVINO raises
            note = "OpenVINO does not know this processor"
    if has_torch():
        from infill_engine.models.trunk.torch_loading import int8_backend

        return int8_backend(prepared, note, denoiser)
    raise ModelError(
        f"{note}, and torch, which would compute the model in its place, is not installed: run {installing(TORCH)}."
    )


def _new_backend(prepared: Prepared, source: Source, denoiser: Denoiser | None) -> Backend | None:
    """Return OpenVINO's backend, and keep its graph; None if torch computes faster. Raises RuntimeError."""
    from infill_engine.models.trunk.graph import build_graph
    from infill_engine.models.trunk.graph_files import finish_graph, write_graph

    graph, backend = build_graph(prepared.config, prepared.arrays, denoiser), None
    if has_torch() and _openvino_backend(prepared.config, graph, denoiser) is None:
        return None  # before the weights are written once more
    folder = None if prepared.note else write_graph(graph, source, denoiser, prepared_folder())
    try:
        backend = _openvino_backend(prepared.config, folder or graph, denoiser)
    finally:
        if folder is not None and backend is not None:
            finish_graph(folder)
        elif folder is not None:
            _try_to_delete(folder)
    return backend


def _openvino_backend(
    config: TrunkConfig, graph: "ov.Model | Path", denoiser: Denoiser | None
) -> "OpenVinoBackend | None":
    """Return OpenVINO's backend unless torch computes faster; its profile says if it is slow. Raises RuntimeError."""
    from infill_engine.models.trunk.backends.openvino_backend import OpenVinoBackend

    backend = OpenVinoBackend(config, graph, wanted_threads() or physical_cores(), denoiser)
    if not backend.is_fast():
        if has_torch():
            return None
        backend.profile += f"; slow on this processor: try {installing(MLX if on_apple_silicon() else TORCH)}"
    return backend


def _try_to_delete(folder: Path) -> None:
    with suppress(OSError):  # on Windows, it is mapped
        delete(folder)


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
