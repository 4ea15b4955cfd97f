"""Where OpenVINO cannot be used, torch computes the same, and the profile says why. Without torch, a message does."""

import re
import sys
from pathlib import Path

import pytest
import tiny_gguf
from tiny_gguf import silent, write_gguf, write_plan

from infill_engine.errors import InputError, ModelError
from infill_engine.models.trunk import trunk_loading as module
from infill_engine.models.trunk.backends.interface import Backend
from infill_engine.models.trunk.backends.openvino_backend import OpenVinoBackend
from infill_engine.models.trunk.backends.torch_backend import TorchBackend
from infill_engine.models.trunk.files.convert import convert
from infill_engine.models.trunk.prepared import GRAPH
from infill_engine.models.trunk.sources import Parts, ShardsSource
from infill_engine.settings import ModelSettings


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ShardsSource:
    monkeypatch.setattr(tiny_gguf, "KEPT", [f"token{number}" for number in range(50)] + ["<|fim_prefix|>"])
    made_from = write_gguf(tmp_path / "tiny.gguf")
    convert(tmp_path / "tiny.gguf", tmp_path / "trunk", write_plan(tmp_path / "made-from", made_from), silent)
    return ShardsSource(tmp_path / "trunk", tmp_path / "trunk")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(module, "prepared_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)


def load(source: ShardsSource) -> tuple[Backend, str]:
    return module._new_backend(Parts(source), *module.find_openvino(), silent)


def test_openvino_computes(source: ShardsSource) -> None:
    backend, note = load(source)
    assert isinstance(backend, OpenVinoBackend)
    assert note == ""


def test_it_is_not_installed(source: ShardsSource, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    monkeypatch.delitem(sys.modules, "infill_engine.models.trunk.products")
    backend, _ = load(source)
    assert isinstance(backend, TorchBackend)
    assert re.fullmatch(r"float32, \d+ threads?; OpenVINO is not installed \(`pip install openvino`\)", backend.profile)


def test_it_does_not_know_the_processor(source: ShardsSource, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_given: object) -> None:
        raise RuntimeError("could not create a primitive descriptor")

    monkeypatch.setattr(OpenVinoBackend, "run", fail)
    assert "does not know this processor" in load(source)[0].profile
    assert not list(cache.glob(f"*{GRAPH}"))


@pytest.mark.usefixtures("without_torch")
def test_without_torch_and_openvino_nothing_computes(source: ShardsSource, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_openvino", lambda: (None, "OpenVINO is not installed (`pip install openvino`)"))
    with pytest.raises(ModelError, match=r"pip install openvino.*infill-ls\[torch\]"):
        load(source)


@pytest.mark.usefixtures("without_torch")
def test_other_precisions_need_torch(source: ShardsSource) -> None:
    with pytest.raises(InputError, match=r"precision `bf16` on a CPU needs torch.*infill-ls\[torch\]"):
        module._float_backend(Parts(source), "cpu", ModelSettings(dtype="bf16"), silent)
