"""From the trunk's folder to a loaded model, on the device and in the precision that were chosen."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from infill_engine.models.checkpoint.user_data import prepared_folder
from infill_engine.models.runtime.devices import physical_cores, wanted_threads
from infill_engine.models.trunk.backends.interface import Backend
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.models.trunk.prepared import Prepared, load_prepared
from infill_engine.models.trunk.prompt import TrunkVocabulary
from infill_engine.settings import AUTO, ModelSettings

Report = Callable[[str, float], None]  # the current task, and the share of it that is done
INT8 = "int8"


def load_trunk(folder: Path, trained: Path, device: str, settings: ModelSettings, report: Report) -> TrunkModel:
    """Return the trunk in `folder` with the adapter in `trained`.

    On a CPU it computes in int8, unless another precision was chosen. Raises ModelDamagedError, or InputError for an
    unknown precision.
    """
    in_int8 = device == "cpu" and settings.dtype in (AUTO, INT8)
    with ThreadPoolExecutor(1) as beside:
        if in_int8:
            beside.submit(find_openvino)
        vocabulary = TrunkVocabulary(folder / "tokenizer.json")  # first: preparing the weights may take a while
    if in_int8:
        prepared = load_prepared(folder, trained, prepared_folder(), report)
        report("compiling the model", 0.9)
        return TrunkModel(_int8_backend(prepared), vocabulary, prepared.note)
    from infill_engine.models.trunk.torch_loading import load_backend

    return TrunkModel(load_backend(folder, trained, device, settings, report), vocabulary)


def find_openvino() -> bool:
    """Return whether OpenVINO is installed and can be imported, which takes 0.2 s."""
    try:
        import openvino  # noqa: F401
    except ImportError:
        return False
    return True


def _int8_backend(prepared: Prepared) -> Backend:
    """Return the fastest backend here: torch where OpenVINO cannot be used, or has no fast int8 products."""
    note = "without OpenVINO: `pip install openvino` makes it faster"
    if find_openvino():
        from infill_engine.models.trunk.backends.openvino_backend import OpenVinoBackend

        try:
            backend = OpenVinoBackend(prepared, wanted_threads() or physical_cores())
            if backend.is_fast():
                return backend
            note = "OpenVINO is slower on this processor"
        except RuntimeError:  # what OpenVINO raises
            note = "OpenVINO does not know this processor"
    from infill_engine.models.trunk.torch_loading import int8_backend

    return int8_backend(prepared, note)
