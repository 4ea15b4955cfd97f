"""Where OpenVINO cannot be used, torch computes the same, and the profile says why."""

from pathlib import Path

import pytest
import tiny_gguf
from tiny_gguf import silent, write_gguf, write_plan

from infill_engine.models.trunk import trunk_loading as module
from infill_engine.models.trunk.backends.openvino_backend import OpenVinoBackend
from infill_engine.models.trunk.backends.torch_backend import TorchBackend
from infill_engine.models.trunk.files.convert import convert
from infill_engine.models.trunk.prepared import Prepared, load_prepared
from infill_engine.models.trunk.sources import ShardsSource


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prepared:
    monkeypatch.setattr(tiny_gguf, "KEPT", [f"token{number}" for number in range(50)] + ["<|fim_prefix|>"])
    source = write_gguf(tmp_path / "tiny.gguf")
    convert(tmp_path / "tiny.gguf", tmp_path / "trunk", write_plan(tmp_path / "made-from", source), silent)
    return load_prepared(ShardsSource(tmp_path / "trunk", tmp_path / "trunk"), tmp_path / "cache", silent)


def test_openvino_computes_where_it_is_fast(prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OpenVinoBackend, "is_fast", lambda _backend: True)
    assert isinstance(module._int8_backend(prepared, None), OpenVinoBackend)


def test_it_is_not_installed(prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_openvino", lambda: False)
    backend = module._int8_backend(prepared, None)
    assert isinstance(backend, TorchBackend)
    assert "pip install openvino" in backend.profile


def test_it_has_no_fast_int8_products_here(prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OpenVinoBackend, "is_fast", lambda _backend: False)
    backend = module._int8_backend(prepared, None)
    assert isinstance(backend, TorchBackend)
    assert "slower on this processor" in backend.profile


def test_it_does_not_know_the_processor(prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_backend: OpenVinoBackend) -> bool:
        raise RuntimeError("could not create a primitive descriptor")

    monkeypatch.setattr(OpenVinoBackend, "is_fast", fail)
    assert "does not know this processor" in module._int8_backend(prepared, None).profile
