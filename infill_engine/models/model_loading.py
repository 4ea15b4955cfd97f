"""From a model's name to a loaded model. Imports torch only for models that need it."""

from pathlib import Path

from infill_engine.models.base import CanvasModel
from infill_engine.models.checkpoint import hub
from infill_engine.models.registry import TRUNK, folder_of, trained_folder
from infill_engine.models.runtime.devices import device_for
from infill_engine.models.runtime.extras import has_torch, require_torch
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.models.trunk.sources import QWEN2, source_of
from infill_engine.models.trunk.trunk_loading import load_trunk
from infill_engine.process import Report
from infill_engine.settings import AUTO, ModelSettings


def load_model(
    name: str, device: str = AUTO, settings: ModelSettings | None = None, report: Report = hub.quietly
) -> TrunkModel | CanvasModel:
    """Load a model of the trunk's architecture, or any other with `load_canvas_model`.

    Raises the same errors, and ModelError for any other if torch is not installed.
    """
    settings = settings or ModelSettings()
    path = _fetched(name, report) if hub.is_hub_name(name) else folder_of(name)
    if path is not None and (source := source_of(path, trained_folder(path))) is not None:
        return load_trunk(source, device_for(TRUNK, device), settings, report)
    require_torch(name)
    from infill_engine.models.canvas_loading import load_canvas_model

    return load_canvas_model(name, device, settings, report)


def _fetched(name: str, report: Report) -> Path:
    """Return the folder of a published model. One that needs torch is not downloaded if torch is not installed."""
    if not has_torch() and hub.cached(name) is None and hub.peek(name)[0]["model_type"] != QWEN2:
        require_torch(name)
    return hub.fetch(name, report)
