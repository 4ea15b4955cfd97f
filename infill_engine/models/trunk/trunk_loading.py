"""Loads a model from its source, on the chosen device and in the chosen precision."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from infill_engine.errors import InputError, ModelDamagedError, ModelError, ModelTooLargeError
from infill_engine.models.checkpoint.user_data import prepared_folder
from infill_engine.models.registry import TRUNK
from infill_engine.models.runtime.devices import MLX, free_memory, on_apple_silicon, physical_cores, wanted_threads
from infill_engine.models.runtime.extras import TORCH, has_torch, installing
from infill_engine.models.trunk.backends.interface import Backend
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.model import CACHES, TrunkModel
from infill_engine.models.trunk.prepared import delete, prepare
from infill_engine.models.trunk.slots import SLOTS
from infill_engine.models.trunk.sources import ModelSource, Parts
from infill_engine.process import Report
from infill_engine.settings import AUTO, ModelSettings

if TYPE_CHECKING:
    from openvino import Model

    from infill_engine.models.trunk.products import Products

INT8 = "int8"
WORSE_EDITS = "The model proposes worse next edits"
UNKNOWN_PROCESSOR = "OpenVINO does not know this processor"
T = TypeVar("T")
LIBRARIES = 150_000_000  # bytes of the process without a model


def load_trunk(source: ModelSource, device: str, settings: ModelSettings, report: Report) -> TrunkModel:
    """Return a model of the trunk's architecture.

    On a CPU it computes in int8, unless another precision was chosen. Raises ModelDamagedError, ModelTooLargeError,
    ModelError if torch would have to compute it and is not installed, or InputError for a precision that is unknown or
    needs torch.
    """
    in_int8 = device == "cpu" and settings.dtype in (AUTO, INT8)
    if source.name != TRUNK:  # the default model is small, and one moment's free memory would decide for the day
        require_memory(source, device, settings)
    denoiser, note = _unless_damaged(source.denoiser, "The model writes from left to right")
    edit_adapter, other_note = _unless_damaged(source.edit_adapter, WORSE_EDITS)
    parts = Parts(source, denoiser, edit_adapter)
    products, why_not = find_openvino() if in_int8 else (None, "")
    # Hashing, compiling and computing do not hold the interpreter's lock, so they run beside Python code.
    with ThreadPoolExecutor(2) as beside:
        kept = beside.submit(_kept_backend, parts, products) if products is not None else None
        vocabulary = source.vocabulary()  # first: preparing the weights may take a while
        beside.submit(vocabulary.build_tables)
        soft_prompt, third_note = _unless_damaged(source.soft_prompt, WORSE_EDITS)
        notes = [note, other_note, third_note]
        backend = kept.result() if kept is not None else None
        if backend is None and in_int8:
            backend, why = _new_backend(parts, products, why_not, report)
            notes.append(why)
    if in_int8 and on_apple_silicon() and not find_spec("mlx"):
        notes.append(f"This computer's GPU is faster: run {installing(MLX)}.")
    backend = backend or _float_backend(parts, device, settings, report)
    return TrunkModel(backend, vocabulary, " ".join(filter(None, notes)), soft_prompt)


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


def require_memory(source: ModelSource, device: str, settings: ModelSettings) -> None:
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


def find_openvino() -> tuple["Products | None", str]:
    """Return the products that OpenVINO computes fastest here, or why it cannot be used."""
    try:
        from infill_engine.models.trunk.products import choose_products
    except ImportError:
        return None, "OpenVINO is not installed (`pip install openvino`)"
    try:
        return choose_products(), ""
    except RuntimeError:  # what OpenVINO raises
        return None, UNKNOWN_PROCESSOR


def _kept_backend(parts: Parts, products: "Products") -> Backend | None:
    """Return OpenVINO's backend with the graph that an earlier start has kept.

    None if there is none; one that is damaged is deleted.
    """
    from infill_engine.models.trunk.backends.openvino_backend import OpenVinoBackend
    from infill_engine.models.trunk.graph_files import find_graph, is_intact

    folder = find_graph(parts, products, prepared_folder())
    if folder is None:
        return None
    with ThreadPoolExecutor(1) as beside, suppress(RuntimeError):  # what OpenVINO raises
        intact = beside.submit(is_intact, folder)
        backend = OpenVinoBackend(parts, folder, _threads())
        if intact.result():
            return backend
    _try_to_delete(folder)
    return None


def _new_backend(parts: Parts, products: "Products | None", why_not: str, report: Report) -> tuple[Backend, str]:
    """Return a backend in int8, or in floats where OpenVINO cannot be used, and what the user should know.

    `why_not` says why there are no `products`. Raises ModelError where neither can be used, or ModelTooLargeError if
    floats do not fit.
    """
    if products is not None:
        try:
            return _compiled(parts, products, report)
        except RuntimeError:  # what OpenVINO raises
            why_not = UNKNOWN_PROCESSOR
    if not has_torch():
        raise ModelError(
            f"{why_not}, and torch, which would compute the model in its place, is not installed: run "
            f"{installing(TORCH)}."
        )
    floats = ModelSettings(dtype="fp32")
    if parts.source.name != TRUNK:
        require_memory(parts.source, "cpu", floats)
    return _float_backend(parts, "cpu", floats, report, why_not), ""


def _compiled(parts: Parts, products: "Products", report: Report) -> tuple[Backend, str]:
    """Return OpenVINO's backend, whose graph is kept, and what the user should know. Raises RuntimeError."""
    from infill_engine.models.trunk.backends.openvino_backend import OpenVinoBackend
    from infill_engine.models.trunk.graph_files import finish_graph

    graph, note = _new_graph(parts, products, report)
    try:
        backend = OpenVinoBackend(parts, graph, _threads())
    except BaseException:
        if isinstance(graph, Path):
            _try_to_delete(graph)
        raise
    if isinstance(graph, Path):
        finish_graph(graph)
    return backend, note


def _new_graph(parts: Parts, products: "Products", report: Report) -> tuple["Model | Path", str]:
    """Return the folder of a model's graph, without what it was made from, which takes as much memory.

    If it cannot be written, return the graph itself, and what the user should know. Raises RuntimeError.
    """
    from infill_engine.models.trunk.graph import build_graph
    from infill_engine.models.trunk.graph_files import write_graph
    from infill_engine.models.trunk.graph_heads import GraphWeights

    terms = parts.edit_adapter.in_floats() if parts.edit_adapter is not None else None
    arrays = prepare(parts.source, report)
    report("compiling the model", 0.9)
    graph = build_graph(GraphWeights(parts.source.config, arrays, products, parts.denoiser, terms))
    cache = prepared_folder()
    try:
        return write_graph(graph, parts, products, cache), ""
    except OSError as error:
        return graph, f"The prepared model cannot be kept in {cache} ({error.strerror}), so every start takes longer."


def _threads() -> int:
    return wanted_threads() or physical_cores()


def _try_to_delete(folder: Path) -> None:
    with suppress(OSError):  # on Windows, it is mapped
        delete(folder)


def _float_backend(parts: Parts, device: str, settings: ModelSettings, report: Report, note: str = "") -> Backend:
    """Return a backend that computes in a floating-point type; `note` is added to its profile.

    Raises InputError if that needs torch.
    """
    if device == MLX:
        from infill_engine.models.trunk.backends.mlx_backend import MlxBackend

        merged = replace(parts.source.open(), smooths=False)
        return MlxBackend(merged, settings.float_type(), parts.denoiser, parts.edit_adapter)
    if not has_torch():
        raise InputError(
            f"the precision `{settings.dtype}` on a CPU needs torch: run {installing(TORCH)}, or use `{AUTO}`"
        )
    from infill_engine.models.trunk.torch_loading import load_backend

    return load_backend(parts, device, settings, report, note)
