"""Loads a model by name with its calibration, and warms it up."""

from infill_engine.engine.draft_answers import calibration_of_retrieval
from infill_engine.engine.engine import Engine
from infill_engine.errors import ModelError, ModelNotFoundError
from infill_engine.models.base import CanvasModel
from infill_engine.models.model_loading import load_model
from infill_engine.models.registry import DEFAULT, RETRIEVAL, TRUNK, folder_of, script_of, trained_folder
from infill_engine.models.trunk.files.folder import TRUNK_FOLDER
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.models.trunk.sources import source_of
from infill_engine.process import Report
from infill_engine.ranking.calibration import Calibration
from infill_engine.sampling.proposer import Proposer, Retrieval
from infill_engine.sampling.scripted import Script, ScriptedProposer
from infill_engine.sampling.trunk.tree_sampler import TreeSampler
from infill_engine.settings import ModelSettings


def load_engine(
    name: str = DEFAULT,
    *,
    device: str = "auto",
    progress: Report | None = None,
    settings: ModelSettings | None = None,
) -> Engine:
    """Load a model by name or folder and warm it up, so that the first keystroke is not delayed.

    `progress` reports loading, and the download of a published model. Raises ModelNotFoundError, ModelDamagedError,
    ModelTooLargeError, ModelError, or InputError for an unknown device or precision.
    """
    report = progress or (lambda _detail, _fraction: None)
    report("reading the model", 0.1)
    load = _load_default if name == DEFAULT else _load_named
    engine = load(name, device, settings or ModelSettings(), report)
    report("ready", 1.0)
    return engine


def proposer_of(model: TrunkModel | CanvasModel) -> Proposer:
    """Return what proposes texts with a loaded model."""
    if isinstance(model, TrunkModel):
        return TreeSampler(model)
    from infill_engine.sampling.canvas.canvas_sampler import CanvasSampler  # needs torch

    return CanvasSampler(model)


def _load_named(name: str, device: str, settings: ModelSettings, report: Report) -> Engine:
    if (script := script_of(name)) is not None:
        engine = Engine(ScriptedProposer(Script.read(script)), name, calibration_of(name))
    else:
        model = load_model(name, device, settings, report)
        engine = Engine(proposer_of(model), name, calibration_of(name))
        if isinstance(model, TrunkModel):
            engine.tell(model.user_message)
    report("warming up", 0.9)
    engine.warm_up()
    return engine


def _load_default(_name: str, device: str, settings: ModelSettings, report: Report) -> Engine:
    """Load the default model. If it is missing, damaged or too large for this machine, retrieved texts serve."""
    try:
        engine = _load_named(TRUNK, device, settings, report)
    except ModelNotFoundError:
        why, user_message = "run `infill-ls models get` for the default model", ""
    except ModelError as error:
        why = "the default model cannot be loaded"
        user_message = f"{error} Until then only retrieved texts are suggested."
    else:
        engine.name = DEFAULT
        return engine
    engine = Engine(Retrieval(why), RETRIEVAL, calibration_of_retrieval())
    engine.tell(user_message)
    return engine


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
    return Calibration.from_json(path.read_text(encoding="utf-8")) if path.is_file() else Calibration()
