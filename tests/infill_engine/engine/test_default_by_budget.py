"""The default model serves if enough of its passes fit the budget. Otherwise the user is told which budget it needs."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "models" / "trunk"))

from tiny_trunk import tiny_model

from infill_engine.engine import loading as module
from infill_engine.engine.loading import load_engine
from infill_engine.engine.local import LocalEngine
from infill_engine.errors import ModelTooLargeError
from infill_engine.ranking.calibration import Calibration
from infill_engine.sampling.tree_sampler import TreeSampler
from infill_engine.settings import EngineSettings


@pytest.fixture(autouse=True)
def pass_ms(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which a pass takes 61 ms."""
    monkeypatch.setattr(TreeSampler, "best_pass_ms", lambda _sampler, _rows: 61.0)


@pytest.mark.parametrize(
    ("budget_ms", "is_fast_enough"), [(150.0, False), (152.0, False), (153.0, True), (400.0, True)]
)
def test_the_budget_must_be_worth_two_and_a_half_passes(tmp_path: Path, budget_ms: float, is_fast_enough: bool) -> None:
    engine = LocalEngine(tiny_model(tmp_path), "trunk", Calibration(), EngineSettings(budget_ms=budget_ms))
    assert engine.is_fast_enough() == is_fast_enough
    assert engine.least_budget_ms() == 153


def test_the_engine_says_which_budget_brings_it_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny, small = tiny_model(tmp_path), module.load_model("small", "cpu", EngineSettings().model, lambda *_: None)
    monkeypatch.setattr(module, "load_model", lambda name, *_: tiny if name == "trunk" else small)
    engine = load_engine("default", device="cpu")
    assert (engine.name, engine.default_needs_ms) == ("default", 153)
    assert "the default model is too slow for 150 ms on this machine" in engine.profile
    assert engine.holds_unused


def test_a_successor_loads_what_its_predecessor_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny, small = tiny_model(tmp_path), module.load_model("small", "cpu", EngineSettings().model, lambda *_: None)
    loaded: list[str] = []
    monkeypatch.setattr(module, "load_model", lambda name, *_: loaded.append(name) or {"trunk": tiny}.get(name, small))
    engine = load_engine("default", device="cpu", settings=EngineSettings(default_needs_ms=183))
    assert (engine.name, engine.default_needs_ms, engine.holds_unused, loaded) == ("default", 183, False, ["small"])
    engine = load_engine("default", device="cpu", settings=EngineSettings(default_needs_ms=0))
    assert (engine.name, engine.default_needs_ms, engine.holds_unused, loaded) == (
        "default",
        0,
        False,
        ["small", "trunk"],
    )


def test_a_successor_that_has_no_memory_for_the_same_model_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    small = module.load_model("small", "cpu", EngineSettings().model, lambda *_: None)

    def load(name: str, *_: object) -> object:
        if name == "trunk":
            raise ModelTooLargeError("too large")
        return small

    monkeypatch.setattr(module, "load_model", load)
    with pytest.raises(ModelTooLargeError):
        load_engine("default", device="cpu", settings=EngineSettings(default_needs_ms=0))
