"""Which model the default is on this machine, and which budget would change that. Uses the models' real files."""

from dataclasses import replace
from pathlib import Path

import pytest

from infill_engine import load_engine
from infill_engine.models.registry import TRUNK, folder_of
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.settings import EngineSettings

FILES = Path(folder_of(TRUNK) or "", "adapter.safetensors")

pytestmark = pytest.mark.skipif(not FILES.is_file(), reason="needs the default model")


def test_the_budget_that_brings_the_default_back() -> None:
    hurried = replace(EngineSettings(), budget_ms=5.0)
    small = load_engine("default", device="cpu", settings=hurried)
    assert not isinstance(small.model, TrunkModel)
    assert small.name == "default"
    assert small.default_needs_ms > hurried.budget_ms
    enough = 4.0 * small.default_needs_ms  # a busy machine measures other times in another load
    trunk = load_engine("default", device="cpu", settings=replace(EngineSettings(), budget_ms=enough))
    assert isinstance(trunk.model, TrunkModel)
    assert trunk.default_needs_ms == 0
    assert 0 < trunk.least_budget_ms() <= enough
