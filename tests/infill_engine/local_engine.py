"""An engine around a model that a test has made, without the requests of its warm-up."""

from infill_engine import Engine
from infill_engine.engine.engine_loading import proposer_of
from infill_engine.models.base import CanvasModel
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.ranking.calibration import Calibration


def engine_of(model: TrunkModel | CanvasModel, name: str = "made") -> Engine:
    return Engine(proposer_of(model), name, Calibration())
