"""Without torch, the CPU computes, and what needs torch says how to install it."""

import sys
from pathlib import Path

import pytest

from infill_engine.errors import InfillError, InputError
from infill_engine.models.checkpoint.inspect import describe
from infill_engine.models.model_loading import load_model
from infill_engine.models.runtime import devices


@pytest.fixture(autouse=True)
def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)


@pytest.mark.parametrize("wanted", ["auto", "cpu"])
def test_the_cpu_computes(wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "may_have_gpu", lambda: True)
    assert devices.choose_device(wanted) == "cpu"


@pytest.mark.parametrize("wanted", ["cuda", "cuda:1", "mps"])
def test_other_devices_need_torch(wanted: str) -> None:
    with pytest.raises(InputError, match=r"needs torch: run `.*python.* -m pip install 'infill-ls\[torch\]'`"):
        devices.choose_device(wanted)


def test_a_published_model_needs_torch_and_transformers(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "llada"}')
    with pytest.raises(InfillError, match=r"needs torch: run .*infill-ls\[models\]"):
        load_model(str(tmp_path))
    with pytest.raises(InfillError, match=r"needs torch: run .*infill-ls\[models\]"):
        describe(str(tmp_path))
