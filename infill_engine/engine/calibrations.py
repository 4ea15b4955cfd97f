"""Which calibration belongs to a model."""

from infill_engine.models.registry import folder_of, trained_folder
from infill_engine.models.trunk.files.folder import TRUNK_FOLDER
from infill_engine.models.trunk.sources import source_of
from infill_engine.ranking.calibration import Calibration

CALIBRATION = "calibration.json"


def calibration_of(name: str) -> Calibration:
    """Return the calibration fitted for this model, from its calibration.json; the built-in one without such a file.

    Models of the trunk's architecture without a file of their own have the trunk's.
    """
    folder = folder_of(name)
    if folder is None or not folder.exists():
        return Calibration()
    path = trained_folder(folder) / CALIBRATION
    if not path.is_file() and (folder.is_file() or source_of(folder, folder) is not None):  # a file is a GGUF file
        path = TRUNK_FOLDER / CALIBRATION
    return Calibration.from_json(path.read_text()) if path.is_file() else Calibration()
