"""Loads a model by name and warms it up."""

from collections.abc import Callable

from infill_engine.engine.calibrations import calibration_of
from infill_engine.engine.local import LocalEngine
from infill_engine.errors import ModelError, ModelNotFoundError
from infill_engine.models.loading import load_model
from infill_engine.models.registry import DEFAULT, SMALL, TRUNK
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.settings import EngineSettings

Progress = Callable[[str, float], None]  # the current task, and the share of it that is done


def load_engine(
    name: str = DEFAULT,
    *,
    device: str = "auto",
    progress: Progress | None = None,
    settings: EngineSettings | None = None,
) -> LocalEngine:
    """Load a model by name or folder and warm it up, so that the first keystroke is not delayed.

    `progress` reports loading, and the download of a published model. Raises ModelNotFoundError, ModelDamagedError,
    ModelTooLargeError, ModelError, or InputError for an unknown device or precision.
    """
    report = progress or (lambda _detail, _fraction: None)
    report("reading the model", 0.1)
    load = _load_default if name == DEFAULT else _load_named
    engine = load(name, device, settings or EngineSettings(), report)
    report("ready", 1.0)
    return engine


def _load_named(name: str, device: str, settings: EngineSettings, report: Progress) -> LocalEngine:
    model = load_model(name, device, settings.model, report)
    engine = LocalEngine(model, name, calibration_of(name), settings)
    if isinstance(model, TrunkModel):
        engine.tell(model.user_message)
    else:
        from infill_engine.models.runtime.cuda_graphs import compile_steps  # needs torch

        compile_steps(
            model,
            model.device,
            lambda what, share: report(what, 0.2 + 0.4 * share),
            lambda user_message: engine.tell(f"{name}: {user_message}"),
        )
    report("warming up", 0.9)
    engine.warm_up()
    return engine


def _load_default(_name: str, device: str, settings: EngineSettings, report: Progress) -> LocalEngine:
    """Load the trunk, or the small model if the trunk is missing, damaged or too large for this machine."""
    try:
        trunk = _load_named(TRUNK, device, settings, report)
    except ModelNotFoundError:
        why_small, user_message = "run `infill-ls models get` for the default model", ""
    except ModelError as error:
        why_small, user_message = "the default model cannot be loaded", f"{error} Until then the small model serves."
    else:
        trunk.name = DEFAULT
        return trunk
    small = _load_named(SMALL, device, settings, report)
    small.replace_default(why_small)
    small.tell(user_message)
    return small
