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
    with ThreadPoolExecutor(1) as beside:
        reading = beside.submit(TrunkVocabulary, folder / "tokenizer.json")
        if device == "cpu" and settings.dtype in (AUTO, INT8):
            prepared = load_prepared(folder, trained, prepared_folder(), report)
            vocabulary = reading.result()
            report("compiling the model", 0.9)
            return TrunkModel(_int8_backend(prepared), vocabulary, prepared.note)
        from infill_engine.models.trunk.torch_loading import load_backend

        return TrunkModel(load_backend(folder, trained, device, settings, report), reading.result())


def _int8_backend(prepared: Prepared) -> Backend:
    """Return the fastest backend here: torch where OpenVINO cannot be used, or has no fast int8 products."""
    try:
        from infill_engine.models.trunk.backends.openvino_backend import OpenVinoBackend

        backend = OpenVinoBackend(prepared, wanted_threads() or physical_cores())
        if backend.is_fast():
            return backend
        note = "OpenVINO is slow on this processor"
    except ImportError:
        note = "`pip install openvino` makes it faster"
    except RuntimeError:  # what OpenVINO raises for a processor that it does not know
        note = "OpenVINO does not know this processor"
    from infill_engine.models.trunk.torch_loading import int8_backend

    return int8_backend(prepared, note)
