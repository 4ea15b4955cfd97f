"""Which model serves as the default: the trunk, however small the budget is, unless it cannot be loaded."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "models" / "trunk"))

from tiny_trunk import tiny_model

from infill_engine.engine import loading as module
from infill_engine.engine.loading import load_engine
from infill_engine.errors import ModelNotFoundError, ModelTooLargeError
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.settings import EngineSettings


def test_the_default_serves_in_any_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = tiny_model(tmp_path)
    monkeypatch.setattr(module, "load_model", lambda *_: tiny)
    engine = load_engine("default", device="cpu", settings=EngineSettings(budget_ms=5.0))
    assert (engine.name, type(engine.model)) == ("default", TrunkModel)


@pytest.mark.parametrize(
    ("error", "said"),
    [(ModelNotFoundError("none"), "infill-ls models get"), (ModelTooLargeError("too large"), "cannot be loaded")],
)
def test_another_model_is_named(error: Exception, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    load = module.load_model

    def fail(name: str, *arguments: object) -> object:
        if name == "trunk":
            raise error
        return load(name, *arguments)

    monkeypatch.setattr(module, "load_model", fail)
    engine = load_engine("default", device="cpu")
    assert engine.name == "small"
    assert said in engine.profile
