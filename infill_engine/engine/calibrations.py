"""Which calibration belongs to a model."""

from infill_engine.models.registry import folder_of, trained_folder
from infill_engine.ranking.calibration import Calibration

CALIBRATION = "calibration.json"


def calibration_of(name: str) -> Calibration:
    """Return the calibration fitted for this model, from its calibration.json; the built-in one without such a file."""
    folder = folder_of(name)
    path = trained_folder(folder) / CALIBRATION if folder else None
    return Calibration.from_json(path.read_text()) if path and path.is_file() else Calibration()
